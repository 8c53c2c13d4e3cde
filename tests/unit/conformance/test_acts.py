"""What an act did not bring about in time is judged, and what was never done is not."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from support.conformance_runs import on_cosmos, verdict, whole
from tidegate_operator.conformance import acts, hits, running
from tidegate_operator.conformance.acts import Acts
from tidegate_operator.conformance.options import Options
from tidegate_operator.conformance.plan import Step
from tidegate_operator.conformance.record import Disturbed, Record
from tidegate_operator.conformance.running import Run, setting_of
from tidegate_operator.conformance.verdicts import Outcome

OPTIONS = Options("here", 7, 180.0)


class Deaf:
    """A group that nothing changes: neither its owners nor its ranges, and it is at rest."""

    def now(self) -> float:
        return 1.0

    def members(self) -> dict[str, list[str]]:
        return {"a": ["0"], "b": ["1"], "c": ["2"]}

    def partitions(self) -> set[str]:
        return {"-ff"}

    def is_settled(self, _replicas: int) -> bool:
        return True

    def why_not_settled(self) -> str:
        return "it was late"


class Taking:
    """Hands whose every request is taken."""

    def __init__(self) -> None:
        self.kube = self

    async def patch(self, *_: object) -> None:
        """The group is asked for another size."""

    async def ask(self, *_: object) -> dict[str, Any]:
        return {}


async def step(kind: str, monkeypatch: pytest.MonkeyPatch, **limits: float) -> Disturbed:
    hands: Any = Taking()
    run = Run(hands, OPTIONS, lambda _: None)
    run.record.setting = replace(setting_of(OPTIONS), settle_s=limits.get("settle_s", 0.0))
    looking: Any = Deaf()
    monkeypatch.setattr(run, "_looking", looking)
    monkeypatch.setattr(run, "_acts", Acts(hands, looking, OPTIONS, run.record))

    async def at_rest(*_: object) -> float:
        return 2.0

    monkeypatch.setattr(run, "until_settled", at_rest)
    monkeypatch.setattr(acts, "_LOOK_S", 0)
    monkeypatch.setattr(running, "CALM_S", 0)
    await run._step(Step(kind, 0.0), 1)
    (found,) = run.record.disturbed
    return found


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("scale-in", "after 0 s no consumer had left"),
        ("split", "after 0 s the status had not the new ranges"),
        ("merge", "after 0 s the status had not the new ranges"),
    ],
)
async def test_what_was_done_and_nobody_reacts_to_is_not_settled_and_is_never_refused(
    kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await step(kind, monkeypatch)
    assert (found.refused, found.settled, found.overdue) == ("", None, said)
    record = on_cosmos(whole())
    record.disturbed.append(replace(found, began=88.0, ended=89.0))
    p8 = verdict(record, "P8")
    assert p8.outcome is Outcome.BROKEN and said in p8.cases[0]
    if kind in ("split", "merge"):
        assert verdict(record, "P13").outcome is Outcome.BROKEN


async def test_an_operator_that_nobody_follows_is_judged_with_who_was_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = Record(setting_of(OPTIONS))
    hands: Any = Taking()
    looking: Any = Deaf()
    found = Acts(hands, looking, OPTIONS, record)

    @asynccontextmanager
    async def doubled() -> Any:
        yield "one"

    async def change_leader(_leader: str) -> None:
        async with hits.within(0.0, "no other operator led"):
            await asyncio.Event().wait()

    operators = SimpleNamespace(doubled=doubled, change_leader=change_leader)
    monkeypatch.setattr(found, "_operators", operators)
    hit = await found.do("operators", 0.0)
    assert (hit.target, hit.overdue) == ("one", "after 0 s no other operator led")


async def test_what_took_too_long_before_it_was_done_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acts, "UNKNOWN_S", 0.0)
    monkeypatch.setattr(Acts, "_told", SimpleNamespace(is_lag_known=True, replicas=3))
    found = await step("storage-away", monkeypatch)
    assert (found.refused, found.overdue) == ("after 0 s the lag was still known", "")
