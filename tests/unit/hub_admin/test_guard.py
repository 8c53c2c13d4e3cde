"""Who may ask: loopback names only where the hub is on loopback, and no pages of others."""

from __future__ import annotations

import pytest

from tidegate_http.guard import check, is_loopback
from tidegate_http.messages import Problem, Request


def ask(method: str, only_loopback: bool = True, target: str = "/", **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    check(Request(method, target, named), only_loopback=only_loopback, own_name="127.0.0.1")


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:5300", "LOCALHOST:1", "127.0.0.1:5300", "127.8.9.10", "[::1]:5300"],
)
def test_a_loopback_name_is_served(host: str) -> None:
    ask("GET", host=host)
    ask("POST", host=host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example:5300",
        "10.0.0.1",
        "",
        "127.0.0.1.evil",
        "[::1",
        "a:b",
    ],
)
def test_any_other_name_is_refused_on_loopback_also_for_reading(host: str) -> None:
    with pytest.raises(Problem, match="listens on loopback") as refused:
        ask("GET", host=host)
    assert refused.value.status == 403


def test_the_name_that_the_hub_was_told_to_listen_on_is_served() -> None:
    request = Request("GET", "/", {"host": "devbox:5300"})
    check(request, only_loopback=True, own_name="DevBox")


def test_the_host_of_a_whole_uri_counts_and_not_the_header() -> None:
    with pytest.raises(Problem):
        ask("GET", target="http://evil.example/", host="localhost")
    ask("GET", target="http://localhost/healthz", host="evil.example")


def test_any_name_is_served_where_the_hub_listens_to_others() -> None:
    ask("GET", only_loopback=False, host="hub.example")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "http://localhost", "", "file://"],
)
@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_a_page_of_another_origin_changes_nothing(method: str, origin: str) -> None:
    for only_loopback in (True, False):
        with pytest.raises(Problem, match="must not change") as refused:
            ask(method, only_loopback, host="localhost:5300", origin=origin)
        assert refused.value.status == 403


def test_the_own_page_may_change_the_hub() -> None:
    ask("POST", host="localhost:5300", origin="http://localhost:5300", sec_fetch_site="same-origin")
    ask("POST", host="hub.example", origin="https://HUB.example", only_loopback=False)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_browser_that_says_cross_site_changes_nothing(site: str) -> None:
    with pytest.raises(Problem):
        ask("DELETE", host="localhost", sec_fetch_site=site)


def test_reading_across_origins_needs_no_refusal_as_browsers_hide_the_answer() -> None:
    ask("GET", host="localhost:5300", origin="http://evil.example", sec_fetch_site="cross-site")


def test_loopback_names_are_told_from_others() -> None:
    assert all(map(is_loopback, ["localhost", "localhost.", "127.0.0.1", "::1", "[::1]", "::1%lo"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "localhost.evil", ""]))
