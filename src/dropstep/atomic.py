"""Files that are written completely or not at all, and the memory that is free for those that are read."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

EXCLUSIVE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
UNKNOWN_MEMORY = 2**33  # bytes that are assumed to be free where the system does not say


def free_memory() -> int:
    """Bytes of memory that are free, as far as the system says."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return UNKNOWN_MEMORY


@contextlib.contextmanager
def atomic_files() -> Iterator[Callable[[str | os.PathLike[str]], Path]]:
    """Write files under temporary names, and rename them once all of them are complete.

    Yields
    ------
    callable
        Returns, for the name of a file, a new and empty file in the same directory to write to. Its name cannot be
        guessed, and its mode is that of the file that it will replace. Symbolic links to that file are followed. If the
        block raises, the temporary files are deleted and existing files are kept.

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
        part = target.with_name(f".dropstep-{secrets.token_hex(8)}.part")
        try:
            os.close(os.open(part, EXCLUSIVE, 0o666))
        except OSError as error:  # of the file that the caller knows
            raise type(error)(error.errno, error.strerror, os.fspath(file)) from None
        targets[part] = target
        if target.exists():
            shutil.copymode(target, part)
        return part

    try:
        yield temporary
        for part, target in targets.items():
            part.replace(target)
    finally:
        for part in targets:
            part.unlink(missing_ok=True)
