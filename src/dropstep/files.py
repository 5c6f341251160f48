"""Atomic writes: a set of files is written completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_files() -> Iterator[Callable[[str | os.PathLike[str]], Path]]:
    """Write files under temporary names, and rename them once all of them are complete.

    Yields
    ------
    callable
        Returns, for the name of a file, the temporary name in the same directory to write to. Symbolic links are
        followed. If the block raises, the temporary files are deleted and existing files are kept.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with atomic_files() as temporary:
    ...     _ = temporary(folder / "a.txt").write_text("complete")
    >>> (folder / "a.txt").read_text()
    'complete'
    """
    targets: dict[Path, Path] = {}

    def temporary(file: str | os.PathLike[str]) -> Path:
        target = Path(os.path.realpath(file))
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        targets[part] = target
        return part

    try:
        yield temporary
        for part, target in targets.items():
            part.replace(target)
    finally:
        for part in targets:
            part.unlink(missing_ok=True)
