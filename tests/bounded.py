"""Tasks in a process with bounded memory and time, which is replaced when it ends or hangs.

Imports nothing that takes long to import, so that what is performed determines how long a process takes to start.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

_ENVIRONMENT_LOCK = threading.Lock()


class ProcessEndedError(Exception):
    """A process ended or hung.

    Attributes
    ----------
    what : str
        The signal, the exit code, or that there was no end.
    trace : str
        Where it was, as faulthandler writes it.
    err : str
        Its standard error.
    """

    def __init__(self, what: str, trace: str, err: str) -> None:
        super().__init__(what)
        self.what, self.trace, self.err = what, trace, err


class Process:
    """A process that performs one task after the other, in a working folder that is empty before each of them.

    Parameters
    ----------
    function : callable
        What is done with a task; pickled, as tasks and results are.
    seconds : float
        Time limit of a task.
    memory : int
        Limit of the address space, in bytes.
    tasks : int, default=1000
        Number of tasks after which the process is replaced.
    environment : mapping of str to str, default={}
        Environment variables.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        seconds: float,
        memory: int,
        tasks: int = 1000,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._function, self._seconds, self._memory = function, seconds, memory
        self._tasks, self._environment = tasks, dict(environment or {})
        self._process: Any = None
        self._n_done = 0

    def perform(self, task: Any) -> Any:
        """The result of a task; raises a ProcessEndedError if there is none."""
        if self._n_done >= self._tasks:
            self.close()
        if self._process is None:
            self._start()
        self._n_done += 1
        started = time.monotonic()
        with contextlib.suppress(EOFError, ConnectionError):
            self._connection.send(task)
            if self._connection.poll(self._seconds + 10):  # the process ends itself before
                return self._connection.recv()
        raise self._ended(hung=time.monotonic() - started >= self._seconds)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory(prefix="dropstep-fuzz-process-", ignore_cleanup_errors=True)
        self._connection, other = context.Pipe()
        arguments = (other, self._folder.name, self._function, self._seconds, self._memory)
        self._process, self._n_done = context.Process(target=_serve, args=arguments, daemon=True), 0
        with _ENVIRONMENT_LOCK, mock.patch.dict(os.environ, self._environment):
            self._process.start()
        other.close()
        self._connection.recv()

    def _ended(self, *, hung: bool) -> ProcessEndedError:
        self._process.join(1 if hung else 10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        code, folder = self._process.exitcode, Path(self._folder.name)
        trace, err = ((folder / name).read_text(errors="replace") for name in ("trace", "err"))
        self.close()
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"end of the process with code {code}"
        what = f"no end within {self._seconds:g} s" if hung else ended
        return ProcessEndedError(what, trace.partition("\nExtension modules")[0], err)

    def close(self) -> None:
        """End the process and delete its folder."""
        if self._process is not None:
            self._connection.close()
            self._process.join(10)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._folder.cleanup()
            self._process = None


def _serve(connection: Connection, folder: str, function: Callable[[Any], Any], seconds: float, memory: int) -> None:
    """Perform what is received, with standard output and error in files."""
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the run, which ends its processes
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT), number)
    # Open until the process ends.
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    trace = open(os.path.join(folder, "trace"), "w")  # noqa: SIM115
    faulthandler.enable(trace)
    os.makedirs(os.path.join(folder, "work"))
    os.chdir(os.path.join(folder, "work"))
    connection.send(None)
    with contextlib.suppress(EOFError):
        while True:
            task = connection.recv()
            faulthandler.dump_traceback_later(seconds, exit=True, file=trace)
            result = function(task)
            faulthandler.cancel_dump_traceback_later()
            for path in sorted(Path(".").rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            connection.send(result)


def printed() -> tuple[str, str]:
    """What was printed to standard output and error since the last call, in such a process."""
    found = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.lseek(stream.fileno(), 0, os.SEEK_SET)
        with open(stream.fileno(), "rb", closefd=False) as content:
            found.append(content.read().decode("utf-8", "replace"))
        os.ftruncate(stream.fileno(), 0)
        os.lseek(stream.fileno(), 0, os.SEEK_SET)
    return found[0], found[1]
