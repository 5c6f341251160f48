"""Limits: a search ends with the path so far when its time is up, or on the first Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from dropstep.result import StopReason


class Limits:
    """Reasons to end a search early.

    As a context manager, the first Ctrl-C (SIGINT) requests the end of the search and the second raises
    KeyboardInterrupt, if this is the main thread and no other handler is installed. The handler is restored on exit.

    Parameters
    ----------
    max_time : float or None
        Seconds from now.
    interruptible : bool, default=False
        Whether to handle Ctrl-C.
    clock : callable, default=time.monotonic
        Returns the current time in seconds.
    """

    def __init__(
        self, max_time: Any, *, interruptible: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock, self._interruptible = clock, interruptible
        self._end = None if max_time is None else clock() + float(max_time)
        self.are_set = interruptible or max_time is not None
        self._interrupted = self._installed = False

    def reason(self) -> StopReason | None:
        """Why the search is to end now; None if it is to continue."""
        if self._interrupted:
            return StopReason.INTERRUPTED
        return StopReason.MAX_TIME if self._end is not None and self._clock() >= self._end else None

    def __enter__(self) -> Limits:
        if self._interruptible and threading.current_thread() is threading.main_thread():
            self._installed = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if self._installed:
                signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
