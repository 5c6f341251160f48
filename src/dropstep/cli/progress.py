"""Progress: one line on standard error, shown only if standard error is a terminal."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from types import TracebackType

from dropstep.report.text import printable

MIN_INTERVAL = 0.1  # seconds between two updates


class Progress:
    """A line that is overwritten by each update and erased at the end.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to show nothing even on a terminal.
    clock : callable, default=time.monotonic
        Returns the current time in seconds.
    """

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = sys.stderr
        self.enabled = not quiet and self.stream.isatty()
        self.clock = clock
        self.started = clock()
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

    def update(self, text: str, done: float = 0.0, total: float = 0.0, *, bound: bool = False) -> None:
        """Show the current task, the time elapsed and, if there is a total, an estimate of the time remaining.

        Parameters
        ----------
        text : str
            The current task.
        done, total : float, default=0.0
            Amount of work done, and in all.
        bound : bool, default=False
            Whether `total` is an upper bound.
        """
        now = self.clock()
        if not self.enabled or now - self._last < MIN_INTERVAL:
            return
        self._last = now
        remaining = ""
        if 0 < done <= total:
            seconds = (now - self.started) * (total - done) / done
            remaining = f", {'at most' if bound else 'about'} {duration(seconds)} left"
        line = f"{printable(text)}, {duration(now - self.started)}{remaining}"
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + line[:width])
        self.stream.flush()
        self._written = True

    def restart(self) -> None:
        """Restart the clock for another task."""
        self.started = self.clock()


def duration(seconds: float) -> str:
    """Format a number of seconds: "59 s", "1 min 01 s", "1 h 01 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, remainder = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {remainder:02d} s"
