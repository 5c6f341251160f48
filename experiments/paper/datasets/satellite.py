"""Landsat pixels: 36 features (9 neighbouring pixels in 4 bands), six classes, split by UCI into 4435 and 2000 rows."""

from experiments.paper.datasets.dataset import Dataset, File, Sample, Split, table_of, train_and_test


def read(train: bytes, test: bytes) -> Sample:
    """Spaces; the class, 1 to 7 without 6, comes last."""
    return train_and_test(table_of(train, None), table_of(test, None))


SATELLITE = Dataset(
    name="satellite",
    title="Satellite",
    uci=146,
    uci_name="Statlog (Landsat Satellite)",
    doi="10.24432/C55887",
    citation="Srinivasan 1993",
    archive="statlog+landsat+satellite.zip",
    files=(
        File("sat.trn", "e896dc88a960fa2404160fc4c3cb3dc53fcf4afd80ba920bf2d261bd42d12613"),
        File("sat.tst", "4b9167b8a92baafafed7c8809aef86d0683a5e685c19d98d119fa6974f0f2479"),
    ),
    read=read,
    # UCI recommends its own split; the random one only shows how the number of features depends on the split.
    splits=(Split("fixed"), Split("rows", 4435 / 6435)),
)
