"""Who is let in to the console of a cluster, for how long, and what their browsers hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from support.wait import comes_true
from tidegate_operator.kinds import Document, Kind
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.page.admission import COOKIE, ByKubernetes
from tidegate_operator.page.sessions import MOST, SESSION_S, Sessions
from unit.operator.console_served import Reviews, Served, Stream, serving


@pytest.fixture
def reviews() -> Reviews:
    return Reviews()


@pytest.fixture
async def cluster(reviews: Reviews) -> AsyncIterator[Served]:
    async with serving(ByKubernetes(reviews)) as made:
        yield made


@asynccontextmanager
async def logged_in(served: Served, token: str = "anna") -> AsyncIterator[aiohttp.ClientSession]:
    """A browser that has logged in."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        made = session.post(f"{served.url}/login", data={"token": token}, allow_redirects=False)
        async with made as answer:
            assert answer.status == 303
        yield session


def showing(token: str) -> Any:
    """A request that shows a token in its header."""
    return SimpleNamespace(headers={"Authorization": f"Bearer {token}"}, cookies={})


class SlowReviews(Reviews):
    """How many are asked of it at once."""

    at_once, most_at_once = 0, 0

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return await super().review(kind, spec)


async def test_who_loses_the_right_hears_nothing_more(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate_operator.page.console.RIGHTS_EVERY_S", 0.1)
    monkeypatch.setattr("tidegate_operator.page.admission.REMEMBERED_S", 0.0)
    async with serving(ByKubernetes(reviews)) as made:
        async with made.stream("/groups/homes/activity/live", "anna") as stream:
            await stream.until("group")
            reviews.people["anna"].clear()
            assert await stream.until("never") is None
        assert await comes_true(lambda: made.console.pages == 0, 10)


async def test_whose_token_is_taken_back_hears_nothing_more(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate_operator.page.console.RIGHTS_EVERY_S", 0.1)
    monkeypatch.setattr("tidegate_operator.page.admission.REMEMBERED_S", 0.0)
    async with serving(ByKubernetes(reviews)) as made:
        async with made.stream("/live", "anna") as stream:
            await stream.until("rows")
            # What they may see is the same: only the token is nobody's any more.
            reviews.revoked.add("anna")
            assert await stream.until("never") is None
        assert await comes_true(lambda: made.console.pages == 0, 10)


async def test_who_logs_out_hears_nothing_more(
    cluster: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate_operator.page.console.RIGHTS_EVERY_S", 0.1)
    async with logged_in(cluster) as session, session.get(f"{cluster.url}/live") as answer:
        stream = Stream(answer)
        await stream.until("rows")
        async with session.post(f"{cluster.url}/logout", allow_redirects=False) as left:
            assert left.status == 303
        assert await stream.until("never") is None


async def test_junk_asks_few_questions_at_a_time_and_makes_nobody_forgotten() -> None:
    reviews = SlowReviews()
    admission = ByKubernetes(reviews)
    assert await admission.viewer(showing("anna"))
    junk = [asyncio.create_task(admission.viewer(showing(f"junk-{at}"))) for at in range(1_500)]
    found = await asyncio.gather(*junk, return_exceptions=True)
    assert reviews.most_at_once <= 4
    # Few wait; the others are told so at once.
    assert sum(isinstance(each, KubeError) for each in found) >= 1_000
    assert [each for each in found if each is None], "some were refused"
    asked = len(reviews.asked)
    assert await admission.viewer(showing("anna"))
    assert len(reviews.asked) == asked, "anna was not forgotten"


async def test_refusals_make_none_of_those_forgotten_who_are_known(reviews: Reviews) -> None:
    admission = ByKubernetes(reviews)
    assert await admission.viewer(showing("anna"))
    for at in range(1_200):
        assert await admission.viewer(showing(f"junk-{at}")) is None
    asked = len(reviews.asked)
    assert await admission.viewer(showing("anna"))
    assert len(reviews.asked) == asked


async def test_the_cookie_holds_no_token_and_opens_nothing_else(cluster: Served) -> None:
    async with logged_in(cluster) as session:
        (cookie,) = session.cookie_jar
        assert "anna" not in cookie.value
        header = {"Authorization": f"Bearer {cookie.value}"}
        assert await cluster.status("/who", headers=header) == 401
        kept = {"Cookie": f"{COOKIE}={cookie.value}"}
        assert await cluster.status("/who", headers=kept) == 200
        async with session.post(f"{cluster.url}/logout", allow_redirects=False):
            pass
        # Also for who had made a copy.
        assert await cluster.status("/who", headers=kept) == 401


async def test_the_page_says_where_the_token_is_kept(cluster: Served) -> None:
    hours = f"{int(SESSION_S // 3600)} hours".replace("12", "twelve")
    async with aiohttp.ClientSession() as session:
        for shown in ({}, {"token": "nobody"}):
            how = "POST" if shown else "GET"
            async with session.request(how, f"{cluster.url}/login", data=shown) as answer:
                said = await answer.text()
            assert "The token stays in the memory of the operator" in said
            assert hours in said
            assert "token is kept in this browser" not in said


def test_a_session_ends_by_itself_and_there_are_only_so_many() -> None:
    time = [0.0]
    sessions = Sessions(lambda: time[0])
    first = sessions.begin("first")
    assert sessions.token_of(first) == "first"
    time[0] = SESSION_S
    assert sessions.token_of(first) == ""
    words = [sessions.begin(str(at)) for at in range(MOST + 1)]
    assert sessions.token_of(words[0]) == ""
    assert sessions.token_of(words[1]) == "1"
    assert sessions.token_of(words[-1]) == str(MOST)


async def test_a_token_that_is_logged_in_with_is_kept_where_no_script_reads_it(
    cluster: Served,
) -> None:
    async with logged_in(cluster) as session:
        made = session.post(f"{cluster.url}/login", data={"token": "anna"}, allow_redirects=False)
        async with made as answer:
            said = answer.headers["Set-Cookie"]
        assert "HttpOnly" in said and "SameSite=Strict" in said and "Path=/" in said
        async with session.get(f"{cluster.url}/who") as answer:
            told = await answer.json()
            assert (told["name"], told["canLogOut"], told["isLocal"]) == ("anna", True, False)
        async with session.post(f"{cluster.url}/logout", allow_redirects=False) as answer:
            assert answer.status == 303
        async with session.get(f"{cluster.url}/who") as answer:
            assert answer.status == 401


async def test_behind_tls_the_cookie_goes_over_tls_alone(cluster: Served) -> None:
    headers = {"X-Forwarded-Proto": "https"}
    async with aiohttp.ClientSession(headers=headers) as session:
        made = session.post(f"{cluster.url}/login", data={"token": "anna"}, allow_redirects=False)
        async with made as answer:
            assert "; Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    "token", ["nobody", "", "anna\r\nSet-Cookie: a=b", "anna; Path=/", "a" * 5_000, "ännä"]
)
async def test_what_is_no_token_sets_no_cookie(cluster: Served, token: str) -> None:
    async with aiohttp.ClientSession() as session:
        made = session.post(f"{cluster.url}/login", data={"token": token}, allow_redirects=False)
        async with made as answer:
            assert answer.status == 401
            assert "Set-Cookie" not in answer.headers
            assert 'role="alert"' in await answer.text()


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}],
)  # fmt: skip
async def test_another_sites_form_logs_nobody_in_or_out(
    cluster: Served, headers: dict[str, str]
) -> None:
    for path in ("/login", "/logout"):
        assert await cluster.status(path, "POST", data={"token": "anna"}, headers=headers) == 403
