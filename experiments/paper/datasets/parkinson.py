"""Parkinson's disease by speech: 752 speech features and gender, 252 persons with 3 recordings each, ill or healthy."""

from experiments.paper.datasets.dataset import Dataset, File, Sample, Split, table_of


def read(speech: bytes) -> Sample:
    """Two header lines; the person comes first, the class last."""
    table = table_of(speech, skiprows=2)
    return Sample(table[:, 1:-1].copy(), table[:, -1].astype(int), persons=table[:, 0].astype(int))


PARKINSON = Dataset(
    name="parkinson",
    title="Parkinson",
    uci=470,
    uci_name="Parkinson's Disease Classification",
    doi="10.24432/C5MS4X",
    citation="Sakar et al. 2018",
    archive="parkinson+s+disease+classification.zip",
    files=(File("pd_speech_features.csv", "9495d1100beaa24005ea951d4b6588186091de4c21cc45009b027f38f699b8ab"),),
    read=read,
    # Rows as in the paper; persons because recordings of one person in both parts leak information.
    splits=(Split("rows", 0.5), Split("persons", 0.5)),
    beta=0.01,
)
