"""What is said at the desk: nobody without the token says anything, and nobody says it again."""

from __future__ import annotations

import pytest

from tidegate.spark.desk_seal import BrokenSealError, Seal, is_nonce

ASKER, DESK = "0" * 32, "f" * 32


def seal(
    token: str = "token", speaker: str = "asker", asker: str = ASKER, desk: str = DESK
) -> Seal:
    return Seal(token, speaker, asker, desk)


def test_what_is_said_is_heard_in_its_order_and_holds_no_token() -> None:
    says, hears = seal(), seal()
    for message in (b"{}", b"{}", b'{"ask": "plan"}', b""):
        line = says.sealed(message)
        assert hears.opened(line) == message
        assert b"token" not in line
        assert line.endswith(b"\n") and line.count(b"\n") == 1


@pytest.mark.parametrize(
    "hears",
    [
        seal("another"),
        seal(speaker="desk"),
        seal(asker="1" * 32),
        seal(desk="1" * 32),
        seal(asker=DESK, desk=ASKER),
    ],
    ids=["token", "speaker", "connection", "desk", "turned round"],
)
def test_a_line_of_another_token_speaker_or_connection_is_none(hears: Seal) -> None:
    with pytest.raises(BrokenSealError):
        hears.opened(seal().sealed(b"{}"))


def test_a_line_is_none_where_it_was_changed_said_again_or_left_out() -> None:
    says = seal()
    first, second = says.sealed(b'{"batch": 1}'), says.sealed(b'{"batch": 2}')
    for heard in (first.replace(b"1}", b"2}"), second, first[:-3] + b"\n", b"", b"\n", b"{}\n"):
        with pytest.raises(BrokenSealError):
            seal().opened(heard)
    hears = seal()
    assert hears.opened(first) == b'{"batch": 1}'
    with pytest.raises(BrokenSealError):
        hears.opened(first)


def test_a_nonce_is_of_one_form() -> None:
    assert is_nonce(ASKER)
    for other in (None, 7, "", "0" * 31, "0" * 33, "F" * 32, "0" * 31 + "\n", "0" * 32 + "\n"):
        assert not is_nonce(other)
