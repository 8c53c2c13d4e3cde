"""Credit counts bytes, waits grow and are jittered, and errors of the service mean what they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.ports import SourceError, StolenError, lost_position
from tidegate.sources.native.backoff import LIMIT_S, pause_s
from tidegate.sources.native.credit import FIRST_CREDIT, Room
from tidegate.sources.native.refusals import SEND, Kind, trouble_of
from tidegate_amqp import Error

LIMIT = 1_000_000


def test_the_first_credit_is_small_because_events_may_be_large() -> None:
    assert Room(LIMIT).begin() == FIRST_CREDIT


def test_credit_is_the_room_divided_by_what_an_event_weighs() -> None:
    room = Room(LIMIT)
    room.came(10, 10 * 1_000)
    assert room.renewal(22) == 990


def test_credit_is_renewed_when_half_of_it_is_used() -> None:
    room = Room(LIMIT)
    room.came(1, 1_000)
    room.went(1_000)
    assert room.renewal(501) is None
    assert room.renewal(500) == 1_000


def test_credit_is_taken_back_when_events_grow() -> None:
    room = Room(LIMIT)
    room.came(100, 100 * 100)
    room.went(100 * 100)
    assert room.renewal(0) == 5_000
    room.came(1, 100_000)
    assert room.renewal(4_999) == 9


def test_a_full_room_gives_no_credit_and_an_empty_one_gives_it_again() -> None:
    room = Room(LIMIT)
    room.came(10, LIMIT + 5)
    assert room.renewal(3) == 0
    assert room.renewal(0) is None
    room.went(LIMIT + 5)
    assert room.renewal(0) == 9


def test_an_event_larger_than_all_the_room_still_comes_through() -> None:
    room = Room(1_000)
    room.came(1, 50_000)
    room.went(50_000)
    assert room.renewal(0) == 1


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=60), st.integers(1, 40))
def test_what_waits_stays_within_the_limit_but_for_what_an_estimate_was_wrong_by(
    sizes: list[int], batch: int
) -> None:
    room, credit = Room(LIMIT), FIRST_CREDIT
    largest = max(sizes)
    for size in sizes:
        count = min(batch, credit)
        if count:
            room.came(count, count * size)
            credit -= count
        renewed = room.renewal(credit)
        credit = credit if renewed is None else renewed
        assert room.waiting_bytes + credit * room.mean_bytes <= 3 * LIMIT + FIRST_CREDIT * largest
        if not credit:
            assert room.waiting_bytes > 0
            room.went(room.waiting_bytes)
            credit = room.renewal(credit) or 0
            assert credit > 0


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_waits_grow_to_a_limit_and_are_never_nothing(failures: int, dice: float) -> None:
    pause = pause_s(failures, lambda: dice)
    assert 0 < pause <= LIMIT_S
    assert pause_s(failures + 1, lambda: dice) >= pause


def test_the_first_wait_is_short() -> None:
    assert pause_s(1, lambda: 0.999) <= 0.05


def test_a_service_that_asks_for_patience_gets_it_with_jitter() -> None:
    waits = {pause_s(1, lambda roll=roll: roll, at_least_s=4.0) for roll in (0.0, 0.3, 0.9)}  # type: ignore[misc]
    assert min(waits) >= 4.0
    assert len(waits) == 3


STOLEN = (
    "New receiver 'nil' with higher epoch of '7' is created hence current receiver 'nil' with "
    "epoch '3' is getting disconnected. TrackingId:x_G1, SystemTracker:ns, Timestamp:2025"
)


@pytest.mark.parametrize(
    ("text", "level"),
    [
        (STOLEN, 7),
        ("Receiver 'nil' with a higher epoch '9' already exists. Receiver 'nil' with epoch 2", 9),
        ("At least one receiver for the endpoint is created with epoch of '5', and so", 5),
        ("Stolen.", None),
    ],
)
def test_a_stolen_link_names_the_level(text: str, level: int | None) -> None:
    trouble = trouble_of(Error("amqp:link:stolen", text), "partition 3")
    assert trouble.kind is Kind.STOLEN
    assert isinstance(trouble.error, StolenError)
    assert trouble.error.level == level
    assert "TrackingId" not in str(trouble.error)


def test_what_only_the_service_can_make_use_of_is_left_out() -> None:
    text = (
        "The messaging entity 'ns:eventhub:telemetry~0|mine' could not be found. To know more "
        "visit https://aka.ms/sbResourceMgrExceptions.  TrackingId:x_B2, SystemTracker:ns, T:2025"
    )
    said = str(trouble_of(Error("amqp:not-found", text), "partition 0").error)
    assert said == (
        "partition 0: amqp:not-found: The messaging entity 'ns:eventhub:telemetry~0|mine' could "
        "not be found. Check the names of the hub and the consumer group: Tidegate creates neither."
    )


def test_a_text_of_the_service_without_a_full_stop_is_told_apart_from_the_advice() -> None:
    text = "The supplied sequence number '110' is invalid. The last one is '97'"
    said = str(trouble_of(Error("com.microsoft:argument-error", text), "partition 0").error)
    assert "The last one is '97'. The position does not fit the hub" in said


@pytest.mark.parametrize(
    "condition",
    [
        "amqp:link:detach-forced",
        "amqp:connection:forced",
        "amqp:internal-error",
        "com.microsoft:entity-updated",
        "com.microsoft:timeout",
        "some:new-condition",
    ],
)
def test_what_is_not_known_to_be_final_may_pass(condition: str) -> None:
    trouble = trouble_of(Error(condition, "words"), "partition 3")
    assert (trouble.kind, trouble.wants_token) == (Kind.PASSING, False)
    assert str(trouble.error) == f"partition 3: {condition}: words"


def test_a_busy_service_says_for_how_long() -> None:
    busy = "com.microsoft:server-busy"
    told = trouble_of(Error(busy, "Please wait 9 seconds and try again."), "p")
    assert (told.kind, told.at_least_s) == (Kind.PASSING, 9.0)
    assert trouble_of(Error(busy, None), "p").at_least_s == 4.0
    assert trouble_of(Error(busy, "wait 86400 seconds"), "p").at_least_s == 60.0


def test_a_right_that_lapsed_wants_a_fresh_token() -> None:
    words = "Unauthorized access. 'Listen' claim(s) are required"
    assert trouble_of(Error("amqp:link:detach-forced", words), "p").wants_token


@pytest.mark.parametrize(
    ("condition", "advice"),
    [
        ("amqp:not-found", "Check the names"),
        ("amqp:unauthorized-access", "the right to listen"),
        ("com.microsoft:auth-failed", "Check the key"),
        ("com.microsoft:argument-error", "rewind the partition"),
    ],
)
def test_what_does_not_pass_says_what_to_do(condition: str, advice: str) -> None:
    trouble = trouble_of(Error(condition, "words"), "partition 3")
    assert trouble.kind is Kind.FATAL
    assert isinstance(trouble.error, SourceError)
    assert trouble.error.is_fatal
    assert str(trouble.error).startswith(f"partition 3: {condition}: words. ")
    assert advice in str(trouble.error)


@pytest.mark.parametrize(
    ("words", "is_lost"),
    [
        ("The supplied offset '144' is invalid. The last offset in the system is '-1'", True),
        ("The supplied sequence number '5' is invalid. The last sequence number is '3'", True),
        ("Property 'operation' is missing", False),
    ],
)
def test_a_position_that_the_hub_does_not_have_is_said_to_be_lost(
    words: str, *, is_lost: bool
) -> None:
    said = str(trouble_of(Error("com.microsoft:argument-error", words), "partition 3").error)
    assert bool(lost_position(said)) is is_lost
    assert f"partition 3: com.microsoft:argument-error: {words}" in said


def test_who_sends_is_told_of_the_right_to_send() -> None:
    refused = Error("amqp:unauthorized-access", "words")
    assert "the right to send to this hub" in str(trouble_of(refused, "hub", SEND).error)
