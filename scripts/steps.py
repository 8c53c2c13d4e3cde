"""Set-up steps: what each prints, where its output goes, and what it says when it cannot go on.

Rules: standard library only. A step says what it fetches and how big it is before it begins, how
far it is while it runs, and what it took when it ends. A step that fails leaves nothing that a
later run takes for finished: 'finished' is a stamp, written last. Every failure says what to do.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Work = Callable[[], None]

MB = 1_000_000
REPORT_EVERY_S = 5.0
LINES_OF_OUTPUT_SHOWN = 12


class StopError(Exception):
    """Set-up cannot go on. The message says what happened and what to do about it."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much a step fetches and how much it leaves on disk, in MB."""

    fetch_mb: int
    disk_mb: int

    def __str__(self) -> str:
        return f"{self.fetch_mb} MB to fetch, {self.disk_mb} MB on disk"


def say(text: str) -> None:
    """Print one line of progress at once, also where the output is a file or a pipe."""
    print(text, flush=True)


def folder_mb(folder: Path) -> float:
    """The size of everything below `folder`; files that vanish meanwhile count as nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(f"{parent}/{name}").st_size
    return total / MB


def require_space(folder: Path, size: Size) -> None:
    """Stop before anything is fetched when the disk cannot hold it."""
    free_mb = shutil.disk_usage(folder).free / MB
    wanted_mb = size.fetch_mb + size.disk_mb
    if free_mb < wanted_mb:
        raise StopError(
            f"The disk that holds {folder} has {free_mb:.0f} MB free, and this step needs about "
            f"{wanted_mb} MB. Free some space, then run the same command again."
        )


@contextlib.contextmanager
def step(
    what: str, size: Size, watched: Sequence[Path], progress: Callable[[], str] = str
) -> Iterator[None]:
    """Announce a step, report the growth of the watched folders, and say what it took.

    A step that knows more of how far it is says so by `progress`.
    """
    say(f"-> {what}: {size}")
    begun = time.monotonic()
    ended = threading.Event()

    def taken() -> str:
        seconds = f"{time.monotonic() - begun:.1f} s"
        if not watched:
            return seconds
        return f"{sum(folder_mb(folder) for folder in watched):.0f} MB on disk, {seconds}"

    def report() -> None:
        while not ended.wait(REPORT_EVERY_S):
            known = progress()
            say(f"   so far: {taken()}" + (f", {known}" if known else ""))

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        ended.set()
        reporter.join()
    say(f"   done: {taken()}")  # reached only where the step's work raised nothing


def remedy_for(output: str) -> str:
    """What to do about a failed command, judged by what it printed."""
    known = (
        (
            ("no space left on device", "enospc"),
            "The disk is full. Free some space, then run the same command again.",
        ),
        (
            ("do not match the hashes", "eintegrity", "checksum validation failed",
             "checksum mismatch", "hash sum mismatch"),
            "A package differs from what the lock file names: it was damaged on the way, or the "
            "lock is out of date. Run the same command again; if it stays so, run `make lock`.",
        ),
        (
            ("no matching distribution", "could not find a version"),
            "The package index of this machine does not have a pinned package for this Python. "
            "See `pip config list`, or try another Python: make PYTHON=python3.11 ...",
        ),
        (
            ("connectionerror", "connection refused", "connection reset", "timed out",
             "temporary failure", "code enotfound", "code eai_again", "code econn",
             "code etimedout", "could not resolve", "could not transfer",
             "dial tcp", "no such host", "i/o timeout", "failed to fetch"),
            "The package registry could not be reached. See the network and the settings of the "
            "tool that asked (`pip config list`, `npm config list`, Maven's settings.xml, `go env "
            "GOPROXY`, `apt-config dump`), then run the same command again.",
        ),
        (
            ("permission denied", "eacces"),
            "A file could not be written. Own this folder (and the caches of pip and npm), then "
            "run the same command again.",
        ),
    )  # fmt: skip
    lowered = output.lower()
    for signs, remedy in known:
        if any(sign in lowered for sign in signs):
            return remedy
    return "Run the same command again; nothing half-made is kept."


def run(
    command: Sequence[str | Path], log: Path, *, cwd: Path, env: Mapping[str, str] | None = None
) -> None:
    """Run a command with its output in `log`; stop with its last lines and a remedy if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as sink:
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=dict(os.environ) | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if ended.returncode == 0:
        return
    output = log.read_text(encoding="utf-8", errors="replace")
    last_lines = "\n".join(f"   | {line}" for line in output.splitlines()[-LINES_OF_OUTPUT_SHOWN:])
    raise StopError(
        f"`{' '.join(Path(part).name for part in command[:1])}` failed "
        f"(exit {ended.returncode}). Its last lines; all of it is in {log}:\n{last_lines}\n"
        f"{remedy_for(output)}"
    )


def is_complete(stamp: Path, key: str) -> bool:
    """Whether the step that writes this stamp was finished for exactly this key."""
    try:
        return stamp.read_text(encoding="utf-8") == key
    except FileNotFoundError:
        return False


def write_stamp(stamp: Path, key: str) -> None:
    """Mark a step as finished, all at once: a stamp is there in full or not at all."""
    draft = stamp.with_name(f"{stamp.name}.new")
    draft.write_text(key, encoding="utf-8")
    draft.replace(stamp)


@contextlib.contextmanager
def one_at_a_time(lock_file: Path) -> Iterator[None]:
    """Hold the set-up lock of the tree, so that two `make` at once do not build over each other."""
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    with lock_file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("-> waiting for another set-up of this folder to end")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def exit_code_of(work: Work) -> int:
    """Do set-up work; turn its failures into one message on stderr and an exit code."""
    try:
        work()
    except StopError as stop:
        return _complain(str(stop), 1)
    except OSError as error:
        return _complain(f"{error}\n{remedy_for(str(error))}", 1)
    except KeyboardInterrupt:
        return _complain("\nStopped. What was broken off is made anew by the same command.", 130)
    return 0


def _complain(message: str, code: int) -> int:
    print(message, file=sys.stderr, flush=True)
    return code
