"""Progress: one line on standard error that says how far the work is, only where a person can see it."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType

from dropstep.cli.naming import printable

EVERY = 0.1  # seconds between two lines


class Progress:
    """A line that is written over and over, and wiped at the end; silent unless standard error is a terminal."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = sys.stderr
        self.shown = not quiet and self.stream.isatty()
        self.clock = clock
        self.began = clock()
        self._last = -math.inf
        self._written = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def say(self, text: str, done: float = 0.0, whole: float = 0.0, *, bound: bool = False) -> None:
        """Say what is being done; with a whole, also the time left (at most, when the whole is a bound)."""
        now = self.clock()
        if not self.shown or now - self._last < EVERY:
            return
        self._last = now
        left = ""
        if 0 < done <= whole:
            seconds = (now - self.began) * (whole - done) / done
            left = f", {'at most' if bound else 'about'} {duration(seconds)} left"
        line = f"{printable(text)}, {duration(now - self.began)}{left}"
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + line[:width])
        self.stream.flush()
        self._written = True

    def restart(self) -> None:
        """Begin to measure anew, for work of another kind."""
        self.began = self.clock()


def duration(seconds: float) -> str:
    """Seconds in words that can be read at a glance."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
