"""What the balance benchmark measures with: virtual time, the SDK's processors in it, prices."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, get_args

import pytest
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError

import balance
import balance_real as real
import balance_ticks as ticks
from balance_blobs import Account, Container
from balance_cases import CASES, lines_of
from balance_loop import NothingHappensError, VirtualLoop
from balance_sdk import GROUP, HOST, HUB, run_sdk
from balance_ticks import Billed, Request, Row
from harness import left_out
from real_scenarios import Seen
from simulation import scenarios
from simulation.clock import Clock
from simulation.history import Attached, name_of
from simulation.scenarios import changed_at, figures
from tidegate import ports

T = TypeVar("T")
OWNERSHIP = f"{HOST}/{HUB}/{GROUP}/ownership/0"


def run_virtually(clock: Clock, coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(coroutine)


# --- virtual time


def test_timers_and_the_agenda_happen_in_one_order_and_take_no_time() -> None:
    clock, seen = Clock(), list[tuple[str, float]]()

    async def sleeps() -> None:
        await asyncio.sleep(3600)
        seen.append(("timer", clock.now))
        await asyncio.sleep(3600)

    clock.at(3599.0, lambda: seen.append(("before", clock.now)))
    clock.at(3601.0, lambda: seen.append(("after", clock.now)))
    run_virtually(clock, sleeps())
    assert seen == [("before", 3599.0), ("timer", 3600.0), ("after", 3601.0)]
    assert clock.now == 7200.0


def test_a_coroutine_that_nothing_will_wake_is_an_error_and_no_endless_wait() -> None:
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    loop = VirtualLoop(Clock())
    task = loop.create_task(waits())
    with pytest.raises(NothingHappensError):
        loop.run_until_complete(task)
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


# --- the storage that the SDK sees


async def test_a_write_holds_to_its_conditions_and_each_request_is_counted() -> None:
    account = Account(now=lambda: 1000.7, latency=lambda: 0.0)
    blob = Container(account, lambda: False).get_blob_client(OWNERSHIP)
    with pytest.raises(ResourceNotFoundError):
        await blob.set_blob_metadata({}, if_none_match="*")
    first = await blob.upload_blob({"ownerid": "a"}, if_none_match="*")
    with pytest.raises(ResourceModifiedError):
        await blob.set_blob_metadata({}, if_match='"other"')
    with pytest.raises(ResourceModifiedError):
        await blob.upload_blob({}, if_none_match="*")
    second = await blob.set_blob_metadata({"ownerid": "b"}, if_match=first["etag"])
    assert first["etag"] != second["etag"]
    assert second["last_modified"].timestamp() == 1000.0
    assert account.requests == {
        "Set Blob Metadata of ownership": 3,
        "Put Blob of ownership": 2,
    }


# --- the SDK's processors


def test_the_sdks_group_begins_balanced_and_stays_so() -> None:
    run = run_sdk(ticks.quiet(4, 1.0, 300.0), end=360.0, count_from=60.0)
    attached = [record for record in run.records if isinstance(record, Attached)]
    owners = [name_of(record.who) for record in attached]
    assert len(attached) == ticks.PARTITIONS
    assert {owners.count(name) for name in owners} == {ticks.PARTITIONS // 4}
    # Each lists, and writes its ownerships again, once in 30 to 36 s.
    assert 4 * 300 / 36 - 4 <= run.requests["List Blobs"] <= 4 * 300 / 30 + 4
    renewals = run.requests["Set Blob Metadata of ownership"]
    assert renewals == run.requests["List Blobs"] * ticks.PARTITIONS / 4


def test_the_sdk_leaves_the_partitions_of_a_killed_process_for_its_180_s() -> None:
    script = scenarios.killed(0, 32, 8)
    got = figures(run_sdk(script).records, changed_at(script))
    assert len(got.idle_s) == 4
    assert all(180 - 36 <= idle_s <= 180 + 36 + 1 for idle_s in got.idle_s)
    assert len(got.owners) == 7


def test_the_same_seed_gives_the_same_run_of_the_sdk() -> None:
    script = scenarios.growing(3, 8, 1, 2)
    assert run_sdk(script).requests == run_sdk(script).requests


# --- figures and prices


def test_a_case_reports_time_idle_moves_and_duplicates_of_both() -> None:
    for case in CASES:
        one = scenarios.Figures(1.0, case.moves, 0, (0.5,), {})
        lines = list(lines_of(case, [one], [one]))
        assert all(line.ours is not None and line.peer is not None for line in lines)
        assert all(line.met in (True, None) for line in lines)
        assert any("moves" in line.what for line in lines)
        assert any("handled twice" in line.what for line in lines)
        assert any("idle" in line.what or "balanced" in line.what for line in lines)


def test_every_operation_that_is_billed_apart_is_one_of_the_ledgers() -> None:
    assert ticks.OURS.keys() <= {operation.__name__ for operation in get_args(ports.Operation)}


def test_a_price_is_that_of_the_class_and_checkpoints_are_kept_apart() -> None:
    list_, write = Request(ticks.LISTINGS, Billed.LIST), Request(ticks.CHECKPOINTS, Billed.WRITE)
    cost = ticks.cost_of([(list_, 100), (write, 10)], seconds=36.0)
    assert cost.an_hour == {ticks.LISTINGS: 10_000, ticks.CHECKPOINTS: 1000}
    assert cost.keeping == round(ticks.PRICES[Billed.LIST] * ticks.HOURS_A_MONTH, 2)
    assert cost.checkpoints == round(ticks.PRICES[Billed.WRITE] * ticks.HOURS_A_MONTH / 10, 2)


def test_only_the_default_tick_has_a_target_and_a_row_without_idle_times_says_why() -> None:
    cost = ticks.cost_of([], 1.0)
    peer = Row("the SDK", 4, None, (180.0,), cost)
    for tick_s in ticks.TICKS_S:
        for idle_s in ((15.0,), ()):
            first, *_ = ticks.lines_of(Row("ours", 4, tick_s, idle_s, cost), peer)
            assert (first.target is not None) == (tick_s == ticks.DEFAULT_TICK_S)
            assert (first.reason is None) == bool(idle_s)
    assert ticks.DEFAULT_TICK_S in ticks.TICKS_S


# --- parts


def test_a_part_that_is_left_out_has_the_lines_of_one_that_ran_null_and_with_the_reason() -> None:
    one = scenarios.Figures(1.0, 1, 0, (0.5,), {})
    cost = ticks.cost_of([], 1.0)
    peer = Row("the SDK", 4, None, (180.0,), cost)
    ran = [line for case in CASES for line in lines_of(case, [one], [one])]
    for count in ticks.COUNTS:
        for tick_s in ticks.TICKS_S:
            ran += ticks.lines_of(Row("ours", count, tick_s, (15.0,), cost), peer)
    seen = Seen(1.0, (0.5,), 1, 0)
    for count in real.PARTITIONS:
        for change in real.CHANGES:
            ran += real.change_lines(count, change, seen, seen, "")
    ran += real.fault_lines([1.0] * 11)
    assert all(line.ours is not None for line in ran)
    empty = [left_out(line, part) for part in balance.PARTS for line in balance.empty_lines(part)]
    assert [(line.what, line.unit, line.target) for line in empty] == [
        (line.what, line.unit, line.target) for line in ran
    ]
    assert all(line.ours is None and line.met is None and line.reason for line in empty)
