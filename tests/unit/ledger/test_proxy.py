"""A ledger behind a proxy: requests go through the one that the environment names."""

from __future__ import annotations

import asyncio
import base64

import pytest

from tidegate.ledger.access import BlobSettings, has_proxy, open_container

KEY = base64.b64encode(b"a key").decode()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def settings(url: str) -> BlobSettings:
    return BlobSettings("ledger", account_url=url, account_key=KEY)


def test_without_one_the_environment_is_not_asked_with_each_request() -> None:
    assert not has_proxy(settings("https://home.blob.core.windows.net"))


@pytest.mark.parametrize(
    ("url", "is_through_it"),
    [
        ("http://home.example/home", True),
        ("http://azurite.default.svc:10000/home", False),
        ("http://127.0.0.1:10000/home", False),
        ("https://home.example/home", False),
    ],
)
def test_it_is_for_its_scheme_and_not_for_hosts_that_are_reached_directly(
    url: str, is_through_it: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,.svc")
    assert has_proxy(settings(url)) == is_through_it


async def test_a_ledgers_requests_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    proxy = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    async with proxy, open_container(settings("http://home.example/home")) as container:
        assert not await container.exists()
    assert asked[0].decode().lower().startswith("get http://home.example/home/ledger")
