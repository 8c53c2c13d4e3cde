"""The host under which a group continues, and members that reach the source by another."""

from __future__ import annotations

import asyncio

import pytest

from tidegate.admission import Admission, SourceRenamedError, earlier_host
from tidegate.ledger.memory import MemoryClient, MemoryLedger
from tidegate.model import SourceRecord
from tidegate.ports import RecordSource

HUB = "telemetry, created 2026-11-20"


def test_the_host_that_recorded_a_source_first_is_the_groups() -> None:
    records = [
        SourceRecord("b", HUB, 20.0),
        SourceRecord("a", HUB, 30.0),
        SourceRecord("c", "another", 10.0),
    ]
    assert earlier_host(records, "b", HUB) is None
    assert earlier_host(records, "a", HUB) == "b"
    assert earlier_host(records, "c", "another") is None
    assert earlier_host([], "a", HUB) is None


def test_of_two_that_recorded_in_the_same_second_both_name_the_same() -> None:
    records = [SourceRecord("b", HUB, 20.0), SourceRecord("a", HUB, 20.0)]
    assert earlier_host(records, "b", HUB) == "a"
    assert earlier_host(records, "a", HUB) is None


async def test_a_source_that_does_not_say_what_it_is_is_not_compared() -> None:
    async def identity() -> str:
        return ""

    ledger = MemoryClient(MemoryLedger(), lambda: 1.0)
    await Admission(identity, "hub 'h'", "a", is_told=False).check(ledger)
    assert await ledger.perform(RecordSource("seen")) == (SourceRecord("memory", "seen", 1.0),)


async def test_a_source_is_asked_once_and_again_where_records_may_be_gone() -> None:
    asked = 0

    async def identity() -> str:
        nonlocal asked
        asked += 1
        return HUB

    ledger = MemoryClient(MemoryLedger(), lambda: 1.0)
    admission = Admission(identity, "hub 'h'", "memory", is_told=False)
    await asyncio.gather(admission.check(ledger))
    await admission.check(ledger)
    assert asked == 1
    admission.again()
    await admission.check(ledger)
    assert asked == 2


async def test_a_refusal_names_both_hosts_and_what_to_write() -> None:
    async def identity() -> str:
        return HUB

    ledger = MemoryClient(MemoryLedger(), lambda: 1.0)
    await ledger.perform(RecordSource(HUB))
    with pytest.raises(
        SourceRenamedError, match=r"spec\.ledger\.host: memory to continue"
    ) as refused:
        await Admission(identity, "hub 'h'", "alias", is_told=False).check(ledger)
    assert refused.value.reason == "SourceRenamed"
    assert "spec.ledger.host: alias to start over" in str(refused.value)
