"""A process that dies before, or in the middle of, each single change that it makes to the disk.

A child process does a fixed piece of work and ends itself at the n-th change, for every n; the
parent opens what is left and compares it with what the child had acknowledged by then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate_hub.storage import Batch, PartitionLog, Store, syncing

Fill = Callable[[PartitionLog, list[int]], list[Batch]]

CHANGES = ("writev", "write", "ftruncate", "truncate", "fsync", "replace", "unlink", "mkdir")


class DiesAt:
    """Stands in for the functions that change the disk, and ends the process at the n-th call."""

    def __init__(self, fatal: int) -> None:
        self.left = fatal
        self.writev = os.writev
        for name in CHANGES:
            setattr(os, name, self._counted(getattr(os, name)))
        syncing.flush_data = self._counted(syncing.flush_data)

    def _counted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                if original is self.writev:  # only a part of it gets to the file
                    content = b"".join(arguments[1])
                    self.writev(arguments[0], [content[: len(content) // 2]])
                os._exit(9)
            return original(*arguments)

        return call


def work(directory: Path, fill: Fill, acknowledge: Callable[[PartitionLog], None]) -> None:
    store = Store(directory, fsync="always", segment_bytes=6000, memory_budget_bytes=10_000)
    log = store.open_log("telemetry", "0")
    for round_number in range(4):
        store.save_hub("telemetry", 1, ("$Default",), round_number)
        for size in (1, 20, 1, 35):
            fill(log, [size])
            store.sync()
            acknowledge(log)
        log.trim_to(log.next_sequence - 30 if round_number < 3 else log.next_sequence)
        acknowledge(log)
    fill(log, [3])
    store.sync()
    acknowledge(log)
    store.close()


def pipe_writer(fd: int) -> Callable[[PartitionLog], None]:
    """Tells the parent how far the log has got; not counted as a change of the disk."""
    write = os.write

    def acknowledge(log: PartitionLog) -> None:
        write(fd, b"%d %d\n" % (log.next_sequence, log.first_sequence))

    return acknowledge


def die_at(fatal: int, directory: Path, fill: Fill) -> tuple[int, tuple[int, int]]:
    """Do the work in a child; return how it ended and what it acknowledged last."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            acknowledge = pipe_writer(writer)
            DiesAt(fatal)
            work(directory, fill, acknowledge)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as lines:
        acknowledged = [line.split() for line in lines]
    _, status = os.waitpid(child, 0)
    next_sequence, first_sequence = acknowledged[-1] if acknowledged else (b"0", b"0")
    return os.waitstatus_to_exitcode(status), (int(next_sequence), int(first_sequence))


@pytest.mark.slow
def test_a_crash_at_any_change_of_the_disk_loses_nothing_acknowledged(
    tmp_path: Path, fill: Fill, check_events: Callable[[PartitionLog], None]
) -> None:
    fatal, code = 0, 9
    while code == 9:
        fatal += 1
        directory = tmp_path / str(fatal)
        code, (next_sequence, first_sequence) = die_at(fatal, directory, fill)
        store = Store(directory, fsync="never", segment_bytes=6000)
        log = store.open_log("telemetry", "0")
        assert log.next_sequence >= next_sequence, f"died at change {fatal}"
        assert log.first_sequence >= first_sequence, f"died at change {fatal}"
        check_events(log)
        assert len(store.load_hubs()) <= 1
        assert not list(directory.rglob("hubs/**/*.tmp"))
        fill(log, [50])
        store.close()
        store = Store(directory, fsync="never", segment_bytes=6000)
        check_events(store.open_log("telemetry", "0"))
        assert store.recovered == [], f"died at change {fatal}"
        store.close()
    assert code == 0, "the work itself failed"
    print(f"{fatal - 1} places to die at")
    assert fatal > 100
