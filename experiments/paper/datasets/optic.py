"""Optical digits: 64 counts of dark pixels, ten classes, split by UCI into 3823 training and 1797 test rows."""

from experiments.paper.datasets.dataset import Dataset, File, Sample, Split, table_of, train_and_test


def read(train: bytes, test: bytes) -> Sample:
    """Commas; the digit comes last. Two training columns are constant."""
    return train_and_test(table_of(train), table_of(test))


OPTIC = Dataset(
    name="optic",
    title="Optic",
    uci=80,
    uci_name="Optical Recognition of Handwritten Digits",
    doi="10.24432/C50P49",
    citation="Alpaydin and Kaynak 1998",
    archive="optical+recognition+of+handwritten+digits.zip",
    files=(
        File("optdigits.tra", "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd"),
        File("optdigits.tes", "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"),
    ),
    read=read,
    splits=(Split("fixed"),),
)
