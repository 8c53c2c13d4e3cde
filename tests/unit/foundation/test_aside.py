"""Work beside a benchmark: it gives what it found, and never outlives who asked for it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from aside import Aside
from support.aside_work import broken, doubled, sleeps_with_a_child
from support.wait import wait_until

_BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def ids_in(note: Path) -> list[int]:
    wait_until(note.exists, 30, "the work to begin")
    return [int(word) for word in note.read_text().split()]


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_result_is_what_the_work_found() -> None:
    with Aside(partial(doubled, 21)) as work:
        assert work.result() == 42


def test_what_the_work_raises_is_raised_where_its_result_is_asked_for() -> None:
    with Aside(broken) as work, pytest.raises(ChildProcessError, match="ValueError: no such thing"):
        work.result()


@pytest.fixture(params=["heeded", "ignored"])
def interrupts(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a benchmark does of an interrupt, its processes inherit."""
    before = signal.getsignal(signal.SIGINT)
    if request.param == "ignored":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_who_leaves_early_ends_the_work_and_what_that_has_started(tmp_path: Path) -> None:
    note = tmp_path / "ids"
    with pytest.raises(KeyboardInterrupt), Aside(partial(sleeps_with_a_child, note)):
        ids = ids_in(note)
        raise KeyboardInterrupt
    assert all(is_gone(pid) for pid in ids)


def test_the_work_of_a_benchmark_that_was_killed_ends_by_itself(tmp_path: Path) -> None:
    note = tmp_path / "ids"
    program = (
        "import sys, time\n"
        "from functools import partial\n"
        "from pathlib import Path\n"
        f"sys.path[:0] = [{str(_BENCHMARKS)!r}, {str(_BENCHMARKS.parent / 'tests')!r}]\n"
        "from aside import Aside\n"
        "from support.aside_work import sleeps_with_a_child\n"
        "if __name__ == '__main__':\n"
        f"    with Aside(partial(sleeps_with_a_child, Path({str(note)!r}))):\n"
        "        time.sleep(600)\n"
    )
    file = tmp_path / "killed.py"
    file.write_text(program)
    benchmark = subprocess.Popen([sys.executable, str(file)])
    ids = ids_in(note)
    benchmark.kill()
    benchmark.wait()
    wait_until(lambda: all(is_gone(pid) for pid in ids), 30, "the work to end")
