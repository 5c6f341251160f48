"""The five datasets of the paper, one file per dataset. No data is stored here: it is fetched from UCI."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from experiments.paper.datasets.biodegradation import BIODEGRADATION
from experiments.paper.datasets.dataset import Dataset, File, Sample, Split
from experiments.paper.datasets.fetch import cached, checked, fetch
from experiments.paper.datasets.ionosphere import IONOSPHERE
from experiments.paper.datasets.optic import OPTIC
from experiments.paper.datasets.parkinson import PARKINSON
from experiments.paper.datasets.satellite import SATELLITE

__all__ = ["DATASETS", "Dataset", "File", "Sample", "Split", "fetch", "folder_of", "load"]

# In the order of the paper's tables.
DATASETS: dict[str, Dataset] = {
    dataset.name: dataset for dataset in (BIODEGRADATION, IONOSPHERE, OPTIC, SATELLITE, PARKINSON)
}


def folder_of(dataset: Dataset, data: Path | None) -> Path:
    """The folder with a dataset's files: `data`, or the user's cache, filled from UCI if necessary."""
    return data if data is not None else cached(dataset)


@lru_cache(maxsize=len(DATASETS))
def load(name: str, data: Path | None = None) -> Sample:
    """Read a dataset, after verifying the checksum of each of its files."""
    dataset = DATASETS[name]
    folder = folder_of(dataset, data)
    return dataset.read(*(checked(dataset, file, folder) for file in dataset.files))
