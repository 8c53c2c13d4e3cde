"""A link opens its own home, until it ends, and nothing else opens anything."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from residents.links import KeyUnusable, Link, LinkError, keys_of, link_of, token_of

KEY, OTHER = b"k" * 43, b"o" * 43
NOW = 1_800_000_000.0
LINK = Link("home-000017", int(NOW) + 60)
TOKEN = token_of(KEY, LINK)


def opens(token: str, now: float = NOW, *keys: bytes) -> Link | None:
    try:
        return link_of(keys or (KEY,), token, now)
    except LinkError:
        return None


@given(st.text(min_size=1, max_size=60), st.integers(int(NOW) + 1, int(NOW) + 10**8))
def test_a_link_opens_the_home_that_it_was_made_for(home: str, until: int) -> None:
    if len(home.encode("utf-8", "surrogatepass")) <= 255:
        assert opens(token_of(KEY, Link(home, until))) == Link(home, until)


def test_a_link_ends() -> None:
    assert opens(TOKEN, LINK.until - 0.001) == LINK
    assert opens(TOKEN, LINK.until) is None
    assert opens(TOKEN, LINK.until + 10**6) is None


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("ABab01-_.~%/"))
def test_a_link_with_any_other_letter_opens_nothing(at: int, letter: str) -> None:
    other = TOKEN[:at] + letter + TOKEN[at + 1 :]
    assert (opens(other) is not None) == (other == TOKEN)


def test_the_signature_of_one_link_opens_no_other_home_and_no_later_time() -> None:
    _, until, signature = TOKEN.split(".")
    neighbour = base64.urlsafe_b64encode(b"home-000018").decode().rstrip("=")
    assert opens(f"{neighbour}.{until}.{signature}") is None
    assert opens(f"{TOKEN.split('.')[0]}.{int(until) + 1}.{signature}") is None
    assert opens(f"{TOKEN.split('.')[0]}.0{until}.{signature}") is None


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "home-000017", TOKEN[:-1], f"{TOKEN}A", f"{TOKEN}=", f" {TOKEN}", f"{TOKEN}\n",
     TOKEN.replace(".", ".."), TOKEN.rpartition(".")[0] + ".", "A" * 10_000,
     TOKEN.upper(), TOKEN.replace("-", "+")],
)  # fmt: skip
def test_what_is_no_link_opens_nothing(token: str) -> None:
    assert token == TOKEN or opens(token) is None


def test_another_key_opens_nothing_and_an_older_one_may_still() -> None:
    assert opens(TOKEN, NOW, OTHER) is None
    assert opens(TOKEN, NOW, OTHER, KEY) == LINK


def test_a_key_that_could_be_guessed_is_refused_with_what_to_do() -> None:
    with pytest.raises(KeyUnusable, match="residents key"):
        keys_of("short\n")
    with pytest.raises(KeyUnusable, match="there is no key"):
        keys_of("\n \n")
    assert keys_of(f"\n{KEY.decode()}\n  {OTHER.decode()} \n") == (KEY, OTHER)
