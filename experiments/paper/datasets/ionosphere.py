"""Ionosphere: 351 radar returns, 34 features (the second is constant), good or bad."""

from experiments.paper.datasets.dataset import Dataset, File, Sample, Split, table_with_text_class


def read(ionosphere: bytes) -> Sample:
    """Commas; the class, g or b, comes last."""
    return Sample(*table_with_text_class(ionosphere, ","))


IONOSPHERE = Dataset(
    name="ionosphere",
    title="Ionosphere",
    uci=52,
    uci_name="Ionosphere",
    doi="10.24432/C5W01B",
    citation="Sigillito et al. 1989",
    archive="ionosphere.zip",
    files=(File("ionosphere.data", "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"),),
    read=read,
    splits=(Split("rows", 0.5), Split("rows", 0.7), Split("rows", 0.8), Split("rows", 1.0)),
)
