"""When a group is at rest: by its status, and by the ledger, for as long as it takes to show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidegate_operator.conformance import running
from tidegate_operator.conformance.options import Options
from tidegate_operator.conformance.running import Run


class Clock:
    """Each look takes a second; the owners that it finds are given."""

    def __init__(self, owners: list[dict[str, str]]) -> None:
        self.at, self._owners = 0.0, owners

    def now(self) -> float:
        return self.at

    monotonic = now

    @property
    def owners(self) -> dict[str, str]:
        return self._owners[min(int(self.at), len(self._owners) - 1)]

    def is_settled(self, _replicas: int) -> bool:
        return True

    async def sleep(self, _seconds: float) -> None:
        self.at += 1.0


async def settled(owners: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> float | None:
    hands: Any = SimpleNamespace(kube=None)
    clock = Clock(owners)
    run = Run(hands, Options("here", 7, 180.0), print)
    monkeypatch.setattr(run, "_looking", clock)
    monkeypatch.setattr(running, "time", clock)
    monkeypatch.setattr(running, "asyncio", clock)
    return await run.until_settled(10.0, 3.0)


async def test_a_group_is_at_rest_only_when_nothing_moves_in_the_ledger_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    still = [{"0": "a"}]
    assert await settled(still, monkeypatch) == 0.0
    assert await settled([{"0": "a"}, {"0": "b"}, {"0": "a"}], monkeypatch) == 2.0
    restless = [{"0": each} for each in "ab" * 20]
    assert await settled(restless, monkeypatch) is None
