"""The console over HTTP: who is let in, what they see, and what they do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import (
    COOKIE,
    ByKubernetes,
    Loopback,
    NotAdmitted,
    Viewer,
)
from tidegate_operator.page.track import Track
from unit.operator.console_served import BILLING, HOMES, Reviews, Served, serving


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
async def local() -> AsyncIterator[Served]:
    async with serving(Loopback(ByKubernetes.shown)) as made:
        yield made


@pytest.fixture
async def cluster(reviews: Reviews) -> AsyncIterator[Served]:
    async with serving(ByKubernetes(reviews)) as made:
        yield made


# --- on a machine of one's own


async def test_a_page_hears_of_every_change_and_of_what_is_gone(local: Served) -> None:
    async with local.stream("/live") as stream:
        rows = await stream.until("rows")
        assert [(each["namespace"], each["name"]) for each in rows] == [
            ("billing", "invoices"),
            ("homes", "activity"),
        ]
        local.put(HOMES, state="Moving")
        assert (await stream.until("row"))["state"] == "Moving"
        del local.found[BILLING]
        assert (await stream.until("gone"))["name"] == "invoices"


async def test_what_cannot_be_shown_ends_no_console_and_no_page_goes_on_without_it(
    local: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("cannot be shown")

    async with local.stream("/live") as stream:
        await stream.until("rows")
        with monkeypatch.context() as patched:
            patched.setattr(Track, "hear", broken)
            local.put(HOMES, state="Moving")
            assert await stream.until("row") is None, "it is closed, and comes back"
    assert "cannot be shown" in caplog.text
    async with local.stream("/live") as stream:
        await stream.until("rows")
        local.put(HOMES, state="Stuck")
        assert (await stream.until("row"))["state"] == "Stuck"


async def test_a_page_whose_rights_cannot_be_asked_for_is_closed_and_the_others_go_on(
    cluster: Served, reviews: Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = cluster.console.admission.may_see

    async def broken_for_ben(viewer: Viewer, namespace: str) -> bool:
        if viewer.name == "ben":
            raise RuntimeError("a mistake of ours")
        return await ask(viewer, namespace)

    async with cluster.stream("/live", "anna") as anna, cluster.stream("/live", "ben") as ben:
        await anna.until("rows")
        await ben.until("rows")
        monkeypatch.setattr(cluster.console.admission, "may_see", broken_for_ben)
        cluster.put(GroupKey("later", "fresh"))
        assert await ben.until("never") is None
        cluster.put(HOMES, state="Moving")
        assert (await anna.until("row"))["state"] == "Moving"


async def test_a_groups_page_has_its_history_and_hears_of_hand_overs(local: Served) -> None:
    async with local.stream("/groups/homes/activity/live") as stream:
        assert (await stream.until("track"))["samples"]
        assert (await stream.until("group"))["name"] == "activity"
        states = [
            {**each, "owner": "home-b"} for each in local.found[HOMES]["status"]["partitionStates"]
        ]
        local.put(HOMES, partitionStates=states)
        move = await stream.until("move")
        assert (move["partition"], move["from"], move["to"]) == ("0", "home-a", "home-b")


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80", ""]
)
async def test_a_page_that_makes_its_name_mean_loopback_sees_nothing(
    local: Served, host: str
) -> None:
    for path in ("/", "/live", "/groups/homes/activity/live", "/who"):
        assert await local.status(path, headers={"Host": host}) == 403


@pytest.mark.parametrize("host", ["localhost:8081", "127.0.0.1", "[::1]:8081", "LOCALHOST"])
async def test_loopback_by_any_of_its_names_is_let_in(local: Served, host: str) -> None:
    assert await local.status("/", headers={"Host": host}) == 200


async def test_another_machine_is_let_in_by_no_host_header() -> None:
    asked: Any = SimpleNamespace(headers={"Host": "localhost:8081"}, remote="192.0.2.7")
    with pytest.raises(NotAdmitted, match="for this machine alone"):
        await Loopback(ByKubernetes.shown).viewer(asked)


async def test_nothing_can_be_changed(local: Served) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/", "/live", "/groups/homes/activity", "/who"):
            assert await local.status(path, method) == 405


async def test_a_group_that_is_not_there_is_said_to_be_so(local: Served) -> None:
    for path in ("/groups/homes/nobody/live", "/groups/..%2f/x/live", "/groups/a/b/c"):
        assert await local.status(path) == 404


# --- in a cluster


async def test_nobody_is_let_in_without_a_token_that_kubernetes_takes(cluster: Served) -> None:
    for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic anna"},
                    {"Cookie": f"{COOKIE}=nobody"}, {"X-Remote-User": "anna"},
                    {"Host": "localhost"}):  # fmt: skip
        for path in ("/live", "/groups/homes/activity/live", "/who"):
            assert await cluster.status(path, headers=headers) == 401
        html = {**headers, "Accept": "text/html"}
        assert await cluster.status("/", headers=html) == 303


async def test_each_sees_the_groups_of_the_namespaces_that_kubernetes_lets_them_list(
    cluster: Served,
) -> None:
    async with cluster.stream("/live", "anna") as anna, cluster.stream("/live", "ben") as ben:
        assert [each["name"] for each in await anna.until("rows")] == ["activity"]
        assert [each["name"] for each in await ben.until("rows")] == ["invoices", "activity"]
        cluster.put(BILLING, state="Stuck")
        assert (await ben.until("row"))["state"] == "Stuck"
        cluster.put(HOMES, state="Moving")
        assert (await anna.until("row"))["state"] == "Moving"
    assert "invoices" not in str(anna.heard)


async def test_a_group_that_one_may_not_see_is_the_same_as_one_that_is_not_there(
    cluster: Served,
) -> None:
    answers = set()
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer anna"}) as session:
        for path in ("/groups/billing/invoices/live", "/groups/billing/nothing/live"):
            async with session.get(cluster.url + path) as answer:
                answers.add((answer.status, await answer.text()))
    assert len(answers) == 1
    assert answers.pop()[0] == 404


async def test_a_group_in_a_namespace_that_is_new_is_heard_of(cluster: Served) -> None:
    cluster.console.admission._kube.people["ben"].add("later")  # type: ignore[attr-defined]
    async with cluster.stream("/live", "ben") as ben:
        await ben.until("rows")
        cluster.put(GroupKey("later", "fresh"))
        rows = await ben.until("rows")
        assert "fresh" in [each["name"] for each in rows]


async def test_where_kubernetes_cannot_be_asked_nobody_new_is_let_in(
    cluster: Served, reviews: Reviews
) -> None:
    reviews.is_down = True
    assert await cluster.status("/live", headers={"Authorization": "Bearer anna"}) == 503


async def test_what_kubernetes_said_is_remembered_for_a_while(
    cluster: Served, reviews: Reviews
) -> None:
    for _ in range(5):
        assert await cluster.status("/who", headers={"Authorization": "Bearer anna"}) == 200
        assert await cluster.status("/who", headers={"Authorization": "Bearer nobody"}) == 401
    assert sorted(reviews.asked) == [("token", "anna"), ("token", "nobody")]
