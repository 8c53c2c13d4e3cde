"""The page: whole in itself, nothing let in, and it asks only for what there is."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest

from support.admin_hub import call
from tidegate_hub.admin.table import ROUTES
from tidegate_hub.server import HubServer


@pytest.fixture
def page(server: HubServer) -> str:
    response, _ = call(server, "GET", "/")
    assert (response.status, response.content_type) == (200, "text/html")
    return response.body.decode()


def test_the_page_loads_nothing_from_elsewhere(page: str) -> None:
    loaded = re.findall(r"(?:src|href)=\"([^\"]+)\"|@import|\burl\([^)]+\)", page)
    assert {source for source in loaded if not source.startswith("data:")} == {"/openapi.json"}
    addresses = set(re.findall(r"https?://[^\s'\"`]+", page)) - {"http://www.w3.org/2000/svg"}
    assert not addresses


def test_only_its_own_style_and_script_may_run(server: HubServer, page: str) -> None:
    response, _ = call(server, "GET", "/")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_script_sets_text_and_never_html(page: str) -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)
    assert "style=" not in page


def test_the_page_asks_only_for_paths_that_there_are(page: str) -> None:
    paths = {route.path for route in ROUTES}
    asked = re.search(r'\[("stats"[^\]]*)\]\.map\(\(name\) => read\(`\$\{API\}/\$\{name\}`\)', page)
    assert asked is not None
    for name in re.findall(r'"(\w+)"', asked[1]):
        assert f"/api/v1/{name}" in paths
    assert "${API}/hubs/${encodeURIComponent(hub.name)}/partitions" in page
    assert "/api/v1/hubs/{hub}/partitions" in paths
    assert "/openapi.json" in paths


def test_the_page_fits_phones_dark_rooms_and_screen_readers(page: str) -> None:
    for needed in ('name="viewport"', "prefers-color-scheme: dark", 'lang="en"', 'role="status"'):
        assert needed in page
