"""QSAR biodegradation: 1055 chemicals, 41 molecular descriptors, ready biodegradable or not."""

from experiments.paper.datasets.dataset import Dataset, File, Sample, Split, table_with_text_class


def read(biodeg: bytes) -> Sample:
    """Semicolons; the class, RB or NRB, comes last."""
    return Sample(*table_with_text_class(biodeg, ";"))


BIODEGRADATION = Dataset(
    name="biodegradation",
    title="Biodegradation",
    uci=254,
    uci_name="QSAR biodegradation",
    doi="10.24432/C5H60M",
    citation="Mansouri et al. 2013",
    archive="qsar+biodegradation.zip",
    files=(File("biodeg.csv", "c66ac1a23aba11fb166fd5054fea14ac97b8e4f7e4940ae679dc863d1cc4b3c9"),),
    read=read,
    splits=(Split("rows", 0.5), Split("rows", 0.7), Split("rows", 0.8), Split("rows", 1.0)),
)
