"""Rollouts of real processes under load, by the operator of clusters and controllers like theirs.

Every event is counted. `TIDEGATE_ROLLOUTS` is the number of rollouts, which follow each other.
"""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.azurite import own_azurite
from support.idle_times import Change, changes, longest_pause_s, p95
from support.up_process import UpProcess, group_file, wide_up_process

PODS, PARTITIONS = 4, 16
ROLLOUTS = int(os.environ.get("TIDEGATE_ROLLOUTS", "4"))
# Of all partitions; four consumers handle four hundred events a second.
RATE = 200.0
CHECKPOINT_S = 5.0
STALLS = (8.0, 25.0, 72.0)
FIXED: dict[str, Any] = {
    "scaling": {"min": PODS, "max": PODS},
    "replicas": PODS,
    # The partitions of a member take turns of a fifth of a second.
    "delivery": {"batch": {"maxEvents": 20}},
}
pytestmark = [pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(600 + 120 * ROLLOUTS)]


@contextmanager
def busy_group(folder: Path, **more: Any) -> Iterator[UpProcess]:
    """A group whose members all read, with events coming all the time."""
    environment = {"STORAGE": more.pop("storage")} if "storage" in more else {}
    where: Any = {"storage": {"env": "STORAGE"}, "container": f"up-{uuid.uuid4().hex[:8]}"}
    file = group_file(folder, **(where if environment else {}), **FIXED, **more)
    with wide_up_process(PARTITIONS, folder, file, **environment) as up:
        up.until_settled(PODS)
        up.send(RATE)
        until_read_by(up, names_of(up), time.time())
        yield up


def names_of(up: UpProcess) -> set[str]:
    return {each["name"] for each in up.status().get("members", ())}


def until_read_by(up: UpProcess, names: set[str], since: float, seconds: float = 120.0) -> None:
    """Every partition was handled after a moment, by these members alone."""

    def is_so() -> bool:
        up.seen.read_on()
        last = {each.partition: each for each in up.seen.batches if each.at > since}
        readers = {each.who.partition("#")[0] for each in last.values()}
        return len(last) == PARTITIONS and readers <= names

    up.until(f"{sorted(names)} to read all {PARTITIONS} partitions", is_so, seconds)


def begin_rollout(up: UpProcess, folder: Path, number: int) -> set[str]:
    """Who is there before it."""
    before, file = names_of(up), folder / "group.yaml"
    document = yaml.safe_load(file.read_text())
    document["spec"]["template"] = {"metadata": {"annotations": {"rolled": str(number)}}}
    taken = len(re.findall("what was saved is taken", up.said))
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    up.until_said("what was saved is taken", taken + 1)
    return before


def until_rolled_out(up: UpProcess, before: set[str], seconds: float = 120.0) -> None:
    def is_over() -> bool:
        status = up.status()
        is_ready = (status.get("state"), status.get("ready")) == ("Balanced", f"{PODS}/{PODS}")
        return is_ready and not before & names_of(up)

    up.until("new members alone", is_over, seconds)
    until_read_by(up, names_of(up), time.time())


def moves_of(up: UpProcess, since: float) -> list[Change]:
    return [each for each in changes(up.seen.batches, since) if each.is_move]


def assert_all_is_handled(up: UpProcess) -> None:
    up.end_sender()
    up.until_drained()
    assert (up.seen.lost(), up.seen.disorder) == (0, [])


def test_in_every_rollout_under_load_each_partition_moves_once_and_nothing_is_handled_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved: list[int] = []
    idle: list[float] = []
    with busy_group(tmp_path) as up:
        for number in range(ROLLOUTS):
            begun = time.time()
            until_rolled_out(up, begin_rollout(up, tmp_path, number))
            found = moves_of(up, begun)
            moved.append(len(found))
            idle += [each.idle_s for each in found]
            with capsys.disabled():
                print(f"\nrollout {number}: {len(found)} moves in {time.time() - begun:.0f} s")
        assert_all_is_handled(up)
        duplicates = up.seen.duplicates
    with capsys.disabled():
        print(
            f"\n{ROLLOUTS} rollouts: moves {moved}, handled twice {duplicates}, "
            f"idle p95 {p95(idle):.2f} s"
        )
    assert moved == [PARTITIONS] * ROLLOUTS
    assert duplicates == 0


@pytest.mark.parametrize("stall_s", STALLS)
@pytest.mark.parametrize("rolls", [False, True], ids=["alone", "in-a-rollout"])
def test_storage_that_hangs_loses_nothing_and_repeats_at_most_the_checkpoint_window(
    stall_s: float, rolls: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        azurite = stack.enter_context(own_azurite(tmp_path))
        up = stack.enter_context(busy_group(tmp_path, storage=azurite.connection_string))
        before = names_of(up)
        begun = time.time()
        if rolls:
            begin_rollout(up, tmp_path, 0)
            # With that the first old member is asked to stop.
            up.until_said("has joined", PODS + 1)
        with azurite.hanging():
            hung = time.time()
            time.sleep(stall_s)
        ended = time.time()
        if rolls:
            until_rolled_out(up, before, 240)
        until_read_by(up, names_of(up), ended)
        read_again_s = read_again_after(up, ended)
        assert_all_is_handled(up)
        found, duplicates = moves_of(up, begun), up.seen.duplicates
        pause_s = longest_pause_s(up.seen.batches, hung)
    with capsys.disabled():
        what = "in a rollout" if rolls else "alone"
        print(
            f"\nstorage hangs for {stall_s:.0f} s {what}: {duplicates} handled twice, "
            f"{len(found)} moves, longest pause {pause_s:.1f} s, all read again "
            f"{read_again_s:.1f} s after its end"
        )
    assert duplicates <= RATE * CHECKPOINT_S
    if not rolls:
        assert found == []


def read_again_after(up: UpProcess, moment: float) -> float:
    first: dict[str, float] = {}
    for batch in up.seen.batches:
        if batch.at > moment:
            first.setdefault(batch.partition, batch.at)
    return max(first.values()) - moment
