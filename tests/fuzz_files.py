"""Read files that were changed at random: ``make fuzz TARGET=files SECONDS=600 SEED=0``.

Mutations are numbered consecutively from the seed, so that a run can be repeated and continued. Each is read in a
process with bounded memory and time, which is replaced if it ends or hangs. What must hold:

- A command ends with code 0 or 2, and its errors are sentences. A call returns, or raises an error that is worded.
- There are no warnings, no control characters in what is printed, and JSON can be parsed.
- No file is created or changed, other than those that the command names. A checkpoint is only appended to.
"""

from __future__ import annotations

import contextlib
import dis
import itertools
import json
import os
import re
import shlex
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from bounded import Process, ProcessEndedError, printed
from mutations import Mutation, checkpoints, mutation

SECONDS_PER_MUTATION = 20
MAX_MEMORY = 3 * 2**30  # bytes of the address space of a process
MAX_SENTENCE = 2_000  # characters of an error
MAX_DETAIL = 3_000  # characters of an explanation
FRAMES = 6  # of a traceback
MUTATIONS_PER_PROCESS = 1_000
RECENT = 3  # mutations of a process that may crash it later, by threads that they started
TRIES = 20  # to crash a process: it may depend on the order of threads
KEPT = 3  # mutations of a kind of finding whose files are written
SHOWN = 20  # kinds of findings that are minimised
SECONDS_TO_MINIMISE = 5  # per kind of finding
ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}  # others reserve addresses
IGNORED_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


@dataclass(frozen=True)
class Finding:
    """What must not happen, and where it did."""

    what: str
    place: str = ""
    detail: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """What findings of one cause have in common."""
        return self.what, self.place


# --- judging ---------------------------------------------------------------------------------------------------------


def is_worded(error: BaseException) -> bool:
    """Whether an error is one that the library or the system words: not a fault, nor one of a library below."""
    import pyarrow as pa
    from numpy.linalg import LinAlgError

    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, ValueError | TypeError | OSError | ImportError):
        return False
    if isinstance(error, UnicodeError | LinAlgError | json.JSONDecodeError | pa.ArrowException):
        return False
    return (isinstance(error, OSError) and error.errno is not None) or _is_raised_here(error.__traceback__)


def _is_raised_here(trace: TracebackType | None) -> bool:
    """Whether the last frame is one of the library, at a raise statement."""
    last = None
    while trace is not None:
        last, trace = trace, trace.tb_next
    if last is None or not _is_ours(last.tb_frame.f_code.co_filename):
        return False
    return any(
        instruction.offset == last.tb_lasti and instruction.opname == "RAISE_VARARGS"
        for instruction in dis.get_instructions(last.tb_frame.f_code)
    )


def _is_ours(file: str) -> bool:
    import dropstep

    return file.startswith(os.path.dirname(dropstep.__file__) + os.sep)


def _place(frames: list[traceback.FrameSummary]) -> str:
    """The last line of the library among frames."""
    for frame in reversed(frames):
        if _is_ours(frame.filename):
            return f"dropstep{frame.filename.rpartition('dropstep')[2]}:{frame.lineno} in {frame.name}"
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _of_error(error: BaseException) -> Finding:
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception(error, limit=-FRAMES))
    return Finding(type(error).__qualname__, _place(frames), text[-MAX_DETAIL:])


def _of_output(command: list[str], code: int, out: str, err: str) -> Iterator[Finding]:
    """Findings in what a command printed."""
    lines = err.splitlines() if err.isascii() else err.split("\n")[: -1 if err.endswith("\n") else None]
    if code not in (0, 2):
        yield Finding(f"exit code {code}", detail=err[-MAX_DETAIL:])
        return
    errors = [line for line in lines if not line.startswith(("note: ", "wrote "))]
    if code == 2 and (len(errors) != 1 or not errors[0].startswith("dropstep")):
        yield Finding("standard error is not one sentence", detail=err[-MAX_DETAIL:])
    if code == 0 and errors:
        yield Finding("standard error contains more than notes", detail=err[-MAX_DETAIL:])
    if code == 2 and max(map(len, errors), default=0) > MAX_SENTENCE:
        yield Finding("a sentence is too long", detail=f"{max(map(len, errors))} characters: {err[:300]}")
    if not all(line.isprintable() for line in lines):
        yield Finding("control characters on standard error", detail=repr(err[-MAX_DETAIL:]))
    if code == 2 and out:
        yield Finding("output despite an error", detail=out[:500] + err[-500:])
    if code == 0:
        yield from _of_result(command, out)


def _of_result(command: list[str], out: str) -> Iterator[Finding]:
    chosen = command[command.index("--format") + 1] if "--format" in command and "--dry-run" not in command else "table"
    if chosen == "json":
        try:
            json.loads(out, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError) as error:
            yield Finding("standard output is not JSON", detail=f"{error}: {out[:500]}")
    elif chosen == "table" and not all(line.isprintable() for line in out.split("\n")):
        yield Finding("control characters on standard output", detail=repr(out[:MAX_DETAIL]))


def _of_files(trial: Mutation, failed: bool) -> Iterator[Finding]:
    """Findings in the files of the working folder."""
    after = {str(path.relative_to(".")): path.read_bytes() for path in Path(".").rglob("*") if path.is_file()}
    for name, content in trial.files.items():
        if trial.header and name == trial.file:
            yield from _of_checkpoint(content, after.pop(name, None), trial.header)
        elif after.pop(name, None) != content:
            yield Finding("a file was changed", detail=name)
    for name in after:
        if name not in trial.written:
            yield Finding("a file was created", detail=name)
        elif failed:
            yield Finding("a file was written despite an error", detail=name)


def _of_checkpoint(before: bytes, after: bytes | None, header: bytes) -> Iterator[Finding]:
    """A file that begins as the checkpoint does may lose a torn line and grow; another one may not change."""
    if header.startswith(before) and after is not None and (after == before or after.startswith(header)):
        return
    if before.startswith(header) and after is not None and after.startswith(before[: before.rindex(b"\n") + 1]):
        return
    if after != before:
        yield Finding("a file that is no checkpoint was changed", detail=repr((after or b"")[:300]))


# --- running ---------------------------------------------------------------------------------------------------------


@dataclass
class Observation:
    """What happened while a mutation was read."""

    findings: list[Finding] = field(default_factory=list)
    outcome: str = "returned"
    crashed: bool = False


def observe(trial: Mutation) -> Observation:
    """Read a mutation in the current folder, which is empty, with standard output and error in files."""
    for name, content in trial.files.items():
        Path(name).write_bytes(content)
    seen = Observation()
    with _watched_warnings(seen.findings), _blocks(trial):
        if trial.is_typed:
            _run(trial, seen)
        else:
            _evaluate(trial, seen)
    seen.findings.extend(_of_files(trial, failed=seen.outcome != "returned"))
    return seen


def _run(trial: Mutation, seen: Observation) -> None:
    from dropstep import cli

    command, report, errors = shlex.split(trial.command)[1:], cli._report, list[Exception]()

    def noted(error: Exception, arguments: Any) -> int:
        errors.append(error)
        return report(error, arguments)

    cli._report = noted
    with open(trial.file, "rb") as content, open(content.fileno(), encoding="utf-8", closefd=False) as stdin:
        before, sys.stdin = sys.stdin, stdin
        try:
            code = cli.main(command)
        except BaseException as error:  # main ends with a code, whatever happens
            errors.append(error)
            code = 1
        finally:
            sys.stdin, cli._report = before, report
    out, err = printed()
    seen.findings.extend(_of_error(error) for error in errors if not is_worded(error))
    if not seen.findings:
        seen.findings.extend(_of_output(command, code, out, err))
    seen.outcome = "returned" if code == 0 else "refused"
    if errors:
        seen.outcome = _outcome(errors[-1])


def _evaluate(trial: Mutation, seen: Observation) -> None:
    from sklearn.linear_model import LinearRegression

    from dropstep import Moments, select
    from mutations import rows

    X, y = rows()
    names = {"select": select, "Moments": Moments, "LinearRegression": LinearRegression, "X": X, "y": y}
    try:
        eval(trial.command, names)
    except BaseException as error:
        seen.outcome = _outcome(error)
        if not is_worded(error):
            seen.findings.append(_of_error(error))
    if shown := "".join(printed()):
        seen.findings.append(Finding("a call prints", detail=shown[:MAX_DETAIL]))


def _outcome(error: BaseException) -> str:
    """An error, with its place if memory was not sufficient: a limit that a user with more memory does not have."""
    if isinstance(error, MemoryError):
        return f"out of memory ({_place(traceback.extract_tb(error.__traceback__))})"
    return "refused"


@contextlib.contextmanager
def _watched_warnings(findings: list[Finding]) -> Iterator[None]:
    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        if not issubclass(category, IGNORED_WARNINGS):
            stack = traceback.extract_stack()
            head = f"{filename}:{lineno}: {category.__name__}: {message}\n"
            text = head + "".join(traceback.format_list(stack[-FRAMES - 1 : -1]))
            findings.append(Finding(category.__qualname__, _place(stack), text))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _blocks(trial: Mutation) -> Iterator[None]:
    """Tables are read in blocks, and in smaller ones, if the mutation says so."""
    from dropstep.backends import delimited

    before = delimited.BLOCK
    delimited.BLOCK = trial.block or before
    if trial.large:
        os.environ["DROPSTEP_LARGE_FILE"] = "1"
    try:
        yield
    finally:
        delimited.BLOCK = before
        os.environ.pop("DROPSTEP_LARGE_FILE", None)


# --- a run -----------------------------------------------------------------------------------------------------------


def perform(process: Process, trial: Mutation) -> Observation:
    """What happened while a mutation was read; the end of the process, or no end of the task, is a finding."""
    try:
        return process.perform(trial)
    except ProcessEndedError as ended:
        finding = Finding(ended.what, _place_in_dump(ended.trace), ended.trace[:MAX_DETAIL] + ended.err[-MAX_DETAIL:])
        return Observation([finding], ended.what, crashed=ended.what.startswith("signal"))


def attributed(trial: Mutation, before: Sequence[Mutation]) -> Mutation:
    """The mutation that crashes a process: this one, or one before it whose threads were still running."""
    process = _process()
    try:
        for one in (trial, *reversed(before)):
            if any(perform(process, one).crashed for _ in range(TRIES)):
                return one
    finally:
        process.close()
    return trial


def _process() -> Process:
    return Process(observe, SECONDS_PER_MUTATION, MAX_MEMORY, MUTATIONS_PER_PROCESS, ENVIRONMENT)


def _place_in_dump(trace: str) -> str:
    """The last line of the library in what faulthandler wrote, most recent call first."""
    found = re.search(r'File "[^"]*/(dropstep/[^"]*)", line (\d+) in (\w+)', trace)
    return f"{found[1]}:{found[2]} in {found[3]}" if found else ""


@dataclass
class Run:
    """Mutations from a number on, what happened, and the findings by kind."""

    first: int
    n_done: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    findings: dict[tuple[str, str], list[tuple[Mutation, Finding]]] = field(default_factory=dict)

    def note(self, trial: Mutation, seen: Observation) -> None:
        self.n_done += 1
        self.outcomes[seen.outcome] = self.outcomes.get(seen.outcome, 0) + 1
        self.add(trial, seen.findings)

    def add(self, trial: Mutation, findings: Sequence[Finding]) -> None:
        for finding in {finding.kind: finding for finding in findings}.values():
            self.findings.setdefault(finding.kind, []).append((trial, finding))


def run(first: int, *, seconds: float = float("inf"), count: int | None = None, jobs: int = 1) -> Run:
    """Read mutations for some time, or some number of them, in several processes."""
    result, lock, errors = Run(first), threading.Lock(), list[BaseException]()
    numbers = itertools.count(first) if count is None else iter(range(first, first + count))
    checkpoints()  # before there are threads
    end = time.monotonic() + seconds

    def work() -> None:
        process, recent = _process(), deque[Mutation](maxlen=RECENT)
        try:
            while time.monotonic() < end and not errors:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                trial = mutation(number)
                seen = perform(process, trial)
                if seen.crashed and (culprit := attributed(trial, recent)) is not trial:
                    with lock:
                        result.add(culprit, seen.findings)
                    seen = perform(process, trial)
                recent.append(trial)
                with lock:
                    result.note(trial, seen)
        except BaseException as error:
            errors.append(error)
        finally:
            process.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return result


def minimised(trial: Mutation, kind: tuple[str, str], seconds: float = SECONDS_TO_MINIMISE) -> Mutation | None:
    """The mutation with as few bytes in its file as still give the finding; None if it does not occur again."""
    process, end = _process(), time.monotonic() + seconds
    tries = TRIES if kind[0].startswith("signal") else 1

    def with_content(content: bytes) -> Mutation:
        return replace(trial, files={**trial.files, trial.file: content})

    def fails(content: bytes) -> bool:
        seen = (perform(process, with_content(content)) for _ in range(tries))
        return any(finding.kind == kind for one in seen for finding in one.findings)

    content = trial.files[trial.file]
    try:
        if not fails(content):
            return None
        size = len(content) // 2
        while size and time.monotonic() < end:
            start = 0
            while start < len(content) and time.monotonic() < end:
                shorter = content[:start] + content[start + size :]
                if fails(shorter):
                    content = shorter
                else:
                    start += size
            size //= 2
    finally:
        process.close()
    return with_content(content)


def show(result: Run) -> None:
    """Print the findings, and write the files of the first mutations of each kind."""
    n_findings = sum(map(len, result.findings.values()))
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in sorted(result.outcomes.items(), key=lambda pair: -pair[1]))
    print(f"{result.n_done} mutations from number {result.first}, to be continued with {result.first + result.n_done}")
    print(f"{outcomes}; {n_findings} findings of {len(result.findings)} kinds")
    if not result.findings:
        return
    folder = Path(tempfile.mkdtemp(prefix="dropstep-fuzz-"))
    for i, (kind, found) in enumerate(sorted(result.findings.items(), key=lambda pair: -len(pair[1]))):
        trial, finding = min(found, key=lambda pair: len(pair[0].files[pair[0].file]))
        numbers = ", ".join(str(one.number) for one, _ in found[:10]) + (", ..." if len(found) > 10 else "")
        print(f"\n{' at '.join(filter(None, kind))}: {len(found)} times, in {numbers}")
        for one in (trial, *(one for one, _ in found[:KEPT])):
            _write(folder / str(one.number), one)
        print(f"mutation {trial.number}: {printable(str(trial))}\n  in {folder / str(trial.number)}")
        if i < SHOWN:
            _show_minimised(folder / f"{trial.number}-minimised", trial, kind)
        print("  " + printable(finding.detail).rstrip().replace("\n", "\n  "))
    print(f"\nto repeat: PYTHONPATH=tests {sys.executable} tests/fuzz.py --target files --count 1 --seed NUMBER")


def _show_minimised(folder: Path, trial: Mutation, kind: tuple[str, str]) -> None:
    smaller = minimised(trial, kind)
    if smaller is None:
        print("  which does not occur again in a process that reads this file only")
        return
    _write(folder, smaller)
    content = smaller.files[smaller.file]
    shown = repr(content[:200]) + (" ..." if len(content) > 200 else "")
    print(f"  minimised to {len(content)} bytes in {folder}: {shown}")


def _write(folder: Path, trial: Mutation) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in trial.files.items():
        (folder / name).write_bytes(content)
    (folder / "command.txt").write_text(f"{trial}\n", encoding="utf-8", errors="surrogatepass")


def printable(text: str) -> str:
    """Text without control characters other than line ends."""
    return "\n".join("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n"))


def main(arguments: Mapping[str, Any]) -> int:
    """Run, print, and return the exit code: 1 if there is a finding."""
    seconds = float("inf") if arguments["count"] is not None else arguments["seconds"]
    result = run(arguments["seed"], seconds=seconds, count=arguments["count"], jobs=arguments["jobs"])
    show(result)
    return 1 if result.findings else 0
