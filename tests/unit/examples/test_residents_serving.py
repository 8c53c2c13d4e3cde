"""The residents' page over HTTP: a link opens its own home, and every other way in is shut."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from residents.following import Follower
from residents.links import Link, token_of
from residents.serving import ResidentsPage
from support.activity_writer import ActivityWriter, Reading
from support.slice_store import MemoryBlobs
from tidegate.ops.serving import Address, listen

KEY = b"k" * 43
NOW = 1_800_000_030.0
MINE, OTHERS = "home-000017", "home-000018"


class Served:
    """A server of the page, and a client that sends targets as they are."""

    def __init__(self) -> None:
        self.now = NOW
        self.blobs = MemoryBlobs("home-security/activity")
        self.follower = Follower(self.blobs, lambda: self.now, poll_s=0.01)
        self.port = 0

    def token(self, home: str = MINE, until: float = NOW + 60) -> str:
        return token_of(KEY, Link(home, int(until)))

    async def get(self, target: str, **headers: str) -> tuple[int, bytes]:
        """A request whose target nobody tidies up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [f"GET {target} HTTP/1.1", "Host: homes.example", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = await reader.read()
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    made = Served()
    writer = ActivityWriter(made.blobs)
    homes = (MINE, OTHERS)
    await writer.put([Reading(home, "door", 0, NOW - 5) for home in homes])
    await made.follower.look()
    page = ResidentsPage(made.follower, [KEY], lambda: made.now, beat_s=0.1)
    endpoints = await listen(page.app(), Address("127.0.0.1", 0), "the residents' page")
    made.port = endpoints.port
    following = asyncio.create_task(made.follower.run())
    yield made
    await endpoints.close()
    following.cancel()
    await asyncio.wait({following})


async def events(served: Served, token: str) -> tuple[int, list[tuple[str, str]]]:
    """The first events of a stream."""
    found: list[tuple[str, str]] = []
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{served.port}/h/{token}/live"
        async with session.get(url) as answer:
            if answer.status != 200:
                return answer.status, []
            async for line in answer.content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    found.append((value, ""))
                elif name == "data":
                    found[-1] = (found[-1][0], value)
                    if found[-1][0] == "beat":
                        break
    return 200, found


async def test_a_link_opens_its_own_home_and_no_word_of_another(served: Served) -> None:
    status, body = await served.get(f"/h/{served.token()}")
    assert (status, b"<title>Your home</title>" in body) == (200, True)
    status, told = await events(served, served.token())
    assert status == 200
    assert json.loads(dict(told)["home"])["home"] == MINE
    assert OTHERS not in str(told)


def wrong(served: Served) -> dict[str, str]:
    """Ways to another's home, or to one's own for longer."""
    token = served.token()
    home, until, signature = token.split(".")
    other = base64.urlsafe_b64encode(OTHERS.encode()).decode().rstrip("=")
    forged = token_of(b"x" * 43, Link(OTHERS, int(NOW) + 60))
    return {
        "another home": f"{other}.{until}.{signature}",
        "a later end": f"{home}.{int(until) + 10**6}.{signature}",
        "another signature": f"{home}.{until}.{'A' * 43}",
        "no signature": f"{home}.{until}.",
        "half of it": token[:-5],
        "another key": forged,
        "an old link": served.token(until=NOW - 1),
        "the home's name": OTHERS,
        "a path upwards": f"{token}%2f..%2f{other}",
        "a path within": f"..%2f{token}",
        "an end of line": f"{token}%0d%0aSet-Cookie:%20a=b",
        "a null": f"{token}%00",
        "a very long one": "A" * 6_000,
    }


async def test_every_link_that_opens_nothing_gets_the_same_answer(served: Served) -> None:
    answers = set()
    for token in wrong(served).values():
        for part in ("", "/live", "/clock"):
            answers.add(await served.get(f"/h/{token}{part}"))
    for target in ("/", "/h/", "/h", "/admin", "/h/x/y/z", "/.git/config", "//evil.example/"):
        answers.add(await served.get(target))
    assert len(answers) == 1
    ((status, body),) = answers
    assert status == 404
    assert b"ask whoever looks after your alarm system" in body


@pytest.mark.parametrize(
    "target",
    ["/assets/../__main__.py", "/assets/..%2f__main__.py", "/assets/%2e%2e/links.py",
     "/assets//etc/passwd", "/assets/home.html", "/h/x/../../assets/../serving.py"],
)  # fmt: skip
async def test_no_file_but_the_pages_own_is_served(served: Served, target: str) -> None:
    status, body = await served.get(target)
    assert status == 404
    assert b"import" not in body and b"root:" not in body


async def test_nothing_that_is_sent_besides_the_link_is_believed(served: Served) -> None:
    token = served.token(until=NOW - 1)
    for headers in (
        {"X_Home": MINE, "X_Forwarded_For": "127.0.0.1", "X_Original_URL": f"/h/{served.token()}"},
        {"Cookie": f"home={MINE}", "Authorization": f"Bearer {served.token()}"},
    ):
        assert (await served.get(f"/h/{token}?home={MINE}", **headers))[0] == 404


async def test_a_stream_ends_when_its_link_does(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{served.port}/h/{served.token(until=NOW + 30)}/live"
        async with session.get(url) as answer:
            assert answer.status == 200
            served.now = NOW + 31
            body = await asyncio.wait_for(answer.read(), 30)
            assert b"event: home" in body
        async with session.get(url) as again:
            assert again.status == 404


async def test_pages_and_streams_are_kept_by_nobody_and_run_nothing_of_others(
    served: Served,
) -> None:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{served.port}") as session:
        for path in (f"/h/{served.token()}", "/h/x", f"/h/{served.token()}/clock"):
            async with session.get(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert answer.headers["Cache-Control"] == "no-store"
                assert answer.headers["Referrer-Policy"] == "same-origin"
                assert "unsafe" not in policy and "default-src 'none'" in policy
        async with session.get("/assets/page.js") as asset:
            tag = asset.headers["ETag"]
        async with session.get("/assets/page.js", headers={"If-None-Match": tag}) as kept:
            assert kept.status == 304


async def test_a_server_that_ends_lets_its_streams_end(served: Served) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{served.port}/h/{served.token()}/live"
        async with session.get(url) as answer:
            served.follower.homes.close_all()
            assert b"event: home" in await asyncio.wait_for(answer.read(), 10)
