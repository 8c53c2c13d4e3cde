"""A run of hours: the agent keeps what the run has not seen yet, and a run that cannot be ended
says what it has seen."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from support.conformance_runs import whole
from tidegate_operator.conformance import carrying_out
from tidegate_operator.conformance.agent import Agent, application
from tidegate_operator.conformance.agent_place import STORAGE, AgentPlace
from tidegate_operator.conformance.agent_rows import MOST, Rows
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.manifests import storage_at
from tidegate_operator.conformance.options import Options
from tidegate_operator.conformance.record import Owned, Record
from tidegate_operator.conformance.running import RunError, setting_of
from tidegate_operator.kube_errors import Denied, KubeError

OPTIONS = Options("here", 7, 180.0)


def test_the_agent_lets_go_what_the_run_has_and_says_again_what_it_may_not_have_heard() -> None:
    rows = Rows()
    rows.extend([["stored", number] for number in range(3 * MOST)])
    first, following = rows.since(0)
    assert (len(first), following, rows.kept) == (MOST, MOST, 3 * MOST)
    second, following = rows.since(MOST)
    assert second[0] == ["stored", MOST] and rows.kept == 2 * MOST
    assert rows.since(MOST) == (second, following), "the answer was lost"
    rows.since(3 * MOST)
    rows.add("stored", 3 * MOST)
    assert rows.since(3 * MOST) == ([["stored", 3 * MOST]], 3 * MOST + 1)
    assert rows.kept == 1


def test_an_agent_that_has_not_so_many_rows_says_a_number_below_the_one_it_was_asked_for() -> None:
    rows = Rows()
    rows.add("stored", 0)
    assert rows.since(900) == ([], 1)


async def look(client: Any, after: int) -> dict[str, Any]:
    found: dict[str, Any] = await (await client.get(f"/look?after={after}")).json()
    return found


async def test_two_lives_of_the_agent_are_told_apart_by_what_they_answer() -> None:
    place = AgentPlace("hub", "here", "", "seen", "folder")
    lives = []
    for _ in range(2):
        agent = Agent(place, {STORAGE: storage_at("nowhere")})
        agent._watch.rows.add("owned", 1.0, "0", "a", 1)
        async with TestClient(TestServer(application(agent))) as client:
            said = await look(client, 0)
            assert said["rows"] == [["owned", 1.0, "0", "a", 1]] and said["next"] == 1
            assert (await look(client, 1))["life"] == said["life"]
            assert agent._watch.rows.kept == 0
            lives.append(said["life"])
        await agent.close()
    assert lives[0] != lives[1]


def answer(life: str, following: int, *rows: list[Any]) -> dict[str, Any]:
    return {"now": 0.0, "rows": list(rows), "next": following, "life": life, "check": ""}


@pytest.mark.parametrize(
    "later",
    [
        answer("two", 9, ["owned", 9.0, "0", "b", 1]),
        answer("one", 1),
    ],
)
async def test_an_agent_that_began_anew_is_a_trouble_told_once_and_nothing_is_taken_twice(
    later: dict[str, Any],
) -> None:
    answers = [answer("one", 2, ["owned", 1.0, "0", "a", 1]), answer("one", 2), later, later]

    async def ask(*_: object) -> dict[str, Any]:
        return answers.pop(0)

    hands: Any = SimpleNamespace(ask=ask)
    record = Record(setting_of(OPTIONS))
    looking = Looking(hands, OPTIONS, record)
    for troubles in (0, 0, 1, 1):
        await looking.look_at_agent()
        assert len(record.troubles) == troubles
    assert record.owned == [Owned(1.0, "0", "a", 1)]
    assert record.troubles[0].startswith("the agent began anew")


@pytest.mark.parametrize("problem", [KubeError("409 nothing is being sent"), RunError("no way")])
async def test_a_run_that_cannot_be_ended_writes_the_report_of_what_it_has_seen_and_fails(
    problem: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __init__(self, *_: object) -> None:
            self.record = whole()
            self.record.began, self.record.ended = 1.0, 0.0

        async def carry_out(self) -> None:
            raise problem

    monkeypatch.setattr(carrying_out, "Run", Broken)
    hands: Any = None
    with pytest.raises(type(problem)):
        await carrying_out._run(hands, OPTIONS, tmp_path)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["troubles"] == [f"the run did not end as it should: {problem}"]
    assert not report["passed"] and (tmp_path / "record.json").exists()


async def test_a_run_that_has_seen_nothing_yet_writes_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused:
        def __init__(self, *_: object) -> None:
            self.record = Record(setting_of(OPTIONS))

        async def carry_out(self) -> None:
            raise Denied("no right")

    monkeypatch.setattr(carrying_out, "Run", Refused)
    hands: Any = None
    with pytest.raises(Denied):
        await carrying_out._run(hands, OPTIONS, tmp_path / "none")
    assert not (tmp_path / "none").exists()
