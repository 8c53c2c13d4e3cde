"""The credit of a turn: all of it and no more, as far as there is room."""

from __future__ import annotations

from tidegate.spark.turn_room import TurnRoom

_MB = 1 << 20


def test_a_first_credit_is_small_until_sizes_are_known_and_never_more_than_the_turn() -> None:
    assert TurnRoom(4 * _MB, left=10_000).begin() == 32
    assert TurnRoom(4 * _MB, left=5).begin() == 5


def test_once_sizes_are_known_all_that_is_left_is_asked_for() -> None:
    room = TurnRoom(4 * _MB, left=1_000)
    room.came(32, 32 * 200)
    assert room.left == 968
    assert room.renewal(0) == 968


def test_nothing_is_asked_for_beyond_the_turn() -> None:
    room = TurnRoom(4 * _MB, left=100)
    room.came(100, 100 * 200)
    room.went(100 * 200)
    assert room.left == 0
    assert room.renewal(0) is None
    assert room.begin() == 0


def test_credit_is_renewed_when_half_of_it_is_used() -> None:
    room = TurnRoom(4 * _MB, left=100_000)
    room.came(1, 200)
    assert room.renewal(4_000) is None
    assert room.renewal(2_500) == 5_000


def test_bytes_that_wait_hold_the_credit_back() -> None:
    room = TurnRoom(_MB, left=100_000)
    room.came(1_000, _MB)
    assert room.renewal(0) is None
    room.went(_MB)
    assert room.renewal(0) == 1_000


def test_credit_is_taken_back_where_events_became_larger() -> None:
    room = TurnRoom(_MB, left=10_000)
    room.came(1, 200)
    room.went(200)
    room.came(1, 100_000)
    room.went(100_000)
    assert room.renewal(4_000) == 10
