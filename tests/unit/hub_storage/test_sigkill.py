"""A process that appends is killed at random moments: what it acknowledged must be there."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate_hub
from tidegate_hub.storage import PartitionLog, Store

ROUNDS = 8
WRITER = r"""
import sys
from pathlib import Path
from tidegate_hub.storage import Store

def event(sequence):
    return b"event %d;" % sequence + bytes([sequence % 251]) * (sequence * 37 % 190)

directory, fsync = sys.argv[1:]
store = Store(Path(directory), fsync=fsync, segment_bytes=30_000, memory_budget_bytes=50_000)
log = store.open_log("telemetry", "0")
sizes = (1, 1, 7, 1, 40, 90, 3)
count = 0
while True:
    first = log.next_sequence
    messages = [event(first + i) for i in range(sizes[count % len(sizes)])]
    log.append(messages, count)
    if count % 25 == 24:
        log.trim_to(log.next_sequence - 700)
        store.save_hub("telemetry", 1, ("$Default",), count)
    store.sync()
    count += 1
    sys.stdout.write(f"{log.next_sequence} {log.first_sequence}\n")
    sys.stdout.flush()
"""


def run_and_kill(directory: Path, fsync: str, acknowledgements: int) -> tuple[int, int]:
    """Kill the writer after so many lines; return the last whole line that it wrote."""
    source_root = Path(tidegate_hub.__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), fsync],
        stdout=subprocess.PIPE,
        cwd=source_root,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(acknowledgements)]
    process.kill()
    lines += process.stdout.readlines()  # it went on until the signal came
    process.stdout.close()
    assert process.wait() == -9
    whole = [line for line in lines if line.endswith(b"\n")]
    next_sequence, first_sequence = map(int, whole[-1].split())
    return next_sequence, first_sequence


@pytest.mark.slow
@pytest.mark.parametrize("fsync", ["always", "never"])
def test_an_append_survives_sigkill_once_it_is_acknowledged(
    tmp_path: Path, fsync: str, check_events: Callable[[PartitionLog], None]
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for _ in range(ROUNDS):
        acknowledged, trimmed = run_and_kill(tmp_path, fsync, dice.randint(1, 120))
        store = Store(tmp_path, fsync="never")
        log = store.open_log("telemetry", "0")
        print(f"acknowledged {acknowledged}, recovered {log.next_sequence}: {store.recovered}")
        assert log.next_sequence >= acknowledged
        assert log.first_sequence >= trimmed
        assert all("cut" in words and "incomplete" in words for words in store.recovered)
        check_events(log)
        assert [hub.name for hub in store.load_hubs()] in ([], ["telemetry"])
        store.close()
