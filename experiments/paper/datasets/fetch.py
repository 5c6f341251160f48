"""Files of a dataset, from a folder or from UCI, with verified checksums. Only this file imports pooch."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from experiments.paper.datasets.dataset import Dataset, File

Downloader = Callable[[str, Any, Any], None]


def checked(dataset: Dataset, file: File, folder: Path) -> bytes:
    """The uncompressed content of a file; raises if its checksum is wrong."""
    content = found(file, folder)
    if content is None:
        raise FileNotFoundError(
            f"{dataset.title} needs {file.name} (or {file.name}.gz), which is not in {folder}; set --data or "
            f"DROPSTEP_DATA to a folder that has it, or omit both to fetch it from {dataset.url}"
        )
    _compare(dataset, file, content, f"{file.name} in {folder}")
    return content


def found(file: File, folder: Path) -> bytes | None:
    """The uncompressed content of a file or of its gzipped copy, or None."""
    if (folder / file.name).is_file():
        return (folder / file.name).read_bytes()
    packed = folder / f"{file.name}.gz"
    if not packed.is_file():
        return None
    try:
        return gzip.decompress(packed.read_bytes())
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(
            f"{packed.name} in {folder} is not a gzip file ({error}); remove it and fetch it again"
        ) from None


def _compare(dataset: Dataset, file: File, content: bytes, where: str) -> None:
    digest = hashlib.sha256(content).hexdigest()
    if digest != file.sha256:
        raise ValueError(
            f"{where} is not the file of {dataset.title}: its SHA-256 is {digest[:12]}..., not "
            f"{file.sha256[:12]}...; remove it and fetch it again from {dataset.url}"
        )


def cached(dataset: Dataset) -> Path:
    """The folder of a dataset in the user's cache, filled from UCI the first time."""
    return fetch(dataset, Path(_pooch(dataset).os_cache("dropstep")) / "paper")


def fetch(dataset: Dataset, folder: Path, downloader: Downloader | None = None) -> Path:
    """Fetch the missing files of a dataset into a folder; checksums are verified before a file is written."""
    missing = [file for file in dataset.files if found(file, folder) is None]
    if missing:
        archive = _download(dataset, folder, downloader)
        try:
            for file in missing:
                content = _member(dataset, archive, file)
                _compare(dataset, file, content, f"{file.name} from {dataset.url}")
                (folder / file.name).write_bytes(content)
        finally:
            archive.unlink()
    return folder


def _download(dataset: Dataset, folder: Path, downloader: Downloader | None) -> Path:
    pooch = _pooch(dataset)
    pooch.get_logger().setLevel("WARNING")
    try:
        # The zip has no published checksum; the checksums of its files are verified one by one.
        path = pooch.retrieve(dataset.url, None, dataset.archive, folder, downloader=downloader)
    except OSError as error:
        raise ConnectionError(
            f"{dataset.title} could not be fetched from {dataset.url} ({type(error).__name__}); connect to the "
            "network, or download it elsewhere, unpack it, and set --data or DROPSTEP_DATA to its folder"
        ) from None
    return Path(path)


def _member(dataset: Dataset, archive: Path, file: File) -> bytes:
    try:
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                if PurePosixPath(name).name == file.name:
                    return packed.read(name)
    except zipfile.BadZipFile:
        raise ValueError(f"the answer from {dataset.url} is not a zip file; try again later") from None
    raise ValueError(f"the zip from {dataset.url} has no {file.name}; download that file elsewhere and use --data")


def _pooch(dataset: Dataset) -> Any:
    try:
        import pooch  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            f"fetching {dataset.title} needs pooch: pip install 'dropstep[paper]'; or download {dataset.url}, "
            "unpack it, and set --data or DROPSTEP_DATA to its folder"
        ) from None
    return pooch
