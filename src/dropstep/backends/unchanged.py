"""Files that must not change while they are read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dropstep.readers.errors import ReadError

State = tuple[int, int, int]


def _state(file: str) -> State:
    """What changes if a file does."""
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns, found.st_ino


class Unchanged:
    """Files that must not change from when they were opened."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = tuple(files)
        self._states = {file: _state(file) for file in files}

    def check(self, file: str) -> None:
        """Raise if a file has changed."""
        if not os.path.exists(file) or _state(file) != self._states[file]:
            raise ReadError(f"{file}: the file changed while it was being read; nothing was selected")

    @property
    def n_bytes(self) -> int:
        return sum(size for size, _, _ in self._states.values())
