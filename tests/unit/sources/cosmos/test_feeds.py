"""Places, tokens, transactions, budgets: what a Cosmos source decides without a service."""

from __future__ import annotations

import base64
import json
import re

import pytest

from support.tree import ROOT
from tidegate.model import BEGINNING, Position
from tidegate.sources.cosmos.budget import Budget
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.feeds import CircleError, Feeds
from tidegate.sources.cosmos.places import Feed, Place, PlaceError, beginning, parsed, place_of
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange, range_of
from tidegate.sources.cosmos.refusals import trouble_of
from tidegate.sources.cosmos.tokens import AnswerError, answer_of, question, session_lsn

LEFT, RIGHT = FeedRange("", "1FFF"), FeedRange("1FFF", "FF")


def page_of(*lsns: int) -> list[Change]:
    return [Change({"id": str(number), "_rid": f"r{number}", "_lsn": lsn}) for number, lsn in
            enumerate(lsns)]  # fmt: skip


# --- places


@pytest.mark.parametrize(
    "place",
    [
        beginning("R=", WHOLE),
        beginning("R=", WHOLE, since=1_700_000_000.25),
        Place("a/b=", (Feed(LEFT, '"94"', 94), Feed(RIGHT, 'W/"x;y@z ', 12))),
        Place("R=", (Feed(WHOLE, '"9"', 9),), is_kept=True),
        Place("R=", (Feed(WHOLE, '"9"', 9),), is_kept=True, into=("-1fff", "1fff-ff")),
    ],
)
def test_a_place_is_read_back_as_it_was_written_whatever_the_token(place: Place) -> None:
    position = place.position
    assert parsed(position.offset) == place
    assert position.offset.isascii() and position.offset.isprintable()
    assert position.sequence == min(feed.lsn for feed in place.feeds)


@pytest.mark.parametrize("offset", ["4096", "", "1 R", "1 R x@y", "2 R -ff@@-1", "1 R -ff@tx@3"])
def test_what_is_no_place_is_refused_by_name(offset: str) -> None:
    with pytest.raises(PlaceError, match="none of a change feed"):
        place_of(Position(offset, 5), "-ff")


def test_the_beginning_of_any_source_is_that_of_the_range() -> None:
    assert place_of(BEGINNING, "-1fff", "R=").feeds == (Feed(LEFT),)


@pytest.mark.parametrize("id", ["", "ff", "-", "ff-00", "-XX", "0-", "a/b"])
def test_a_name_that_is_no_range_is_none(id: str) -> None:
    assert range_of(id) is None


# --- feeds


def taken(feeds: Feeds, page: list[Change], token: str, lsn: int) -> list[Change]:
    feed = feeds.current
    found = feeds.take(feed, page, {feed.range: token}, lsn)
    assert found is not None
    return list(found)


def test_changes_of_one_transaction_have_the_place_before_it_until_the_last() -> None:
    feeds = Feeds(Place("R=", (Feed(WHOLE, '"1"', 1),)))
    changes = taken(feeds, page_of(2, 3, 3, 3, 4), '"4"', 9)
    assert [each.is_place for each in changes] == [True, False, False, True, True]
    assert [each.position.sequence for each in changes] == [2, 2, 2, 3, 4]
    assert len({each.letter_place.sequence for each in changes}) == 5
    last = parsed(changes[-1].position.offset)
    assert last == Place("R=", (Feed(WHOLE, '"4"', 4),))
    within = parsed(changes[3].position.offset)
    assert within == Place("R=", (Feed(WHOLE, '"1"', 3),))


def test_what_is_handled_of_a_page_is_left_out_when_it_comes_again() -> None:
    feeds = Feeds(Place("R=", (Feed(WHOLE, '"1"', 3),)))
    assert [each.lsn for each in taken(feeds, page_of(2, 3, 4, 6), '"6"', 6)] == [4, 6]


def test_feeds_are_asked_in_turn_and_are_clear_once_none_has_anything() -> None:
    feeds = Feeds(Place("R=", (Feed(LEFT, '"1"', 1), Feed(RIGHT, '"1"', 1))))
    taken(feeds, page_of(2), '"2"', 5)
    assert (feeds.current.range, feeds.end) == (RIGHT, 1 + 3)
    was_clear = []
    for _ in range(2):
        taken(feeds, [], '"5"', 5)
        was_clear.append(feeds.is_clear)
    assert was_clear == [False, True]
    assert feeds.end == feeds.place.lsn, "nothing waits, whatever LSNs were used up"
    feeds.level([LEFT, RIGHT])
    apart = [feed.range for feed in feeds.place.feeds]
    assert apart == [LEFT, RIGHT], "they have one token by chance"
    feeds.level([WHOLE])
    assert feeds.place.feeds == (Feed(WHOLE, '"5"', 2),)


def test_a_page_of_a_range_that_was_split_does_not_count() -> None:
    feeds = Feeds(Place("R=", (Feed(WHOLE, '"1"', 1),)))
    assert feeds.take(feeds.current, page_of(2), {LEFT: '"2"', RIGHT: '"1"'}, 2) is None
    assert feeds.divide(feeds.current, [LEFT, RIGHT])
    assert feeds.place.feeds == (Feed(LEFT, '"1"', 1), Feed(RIGHT, '"1"', 1))
    assert not feeds.divide(feeds.current, [LEFT, RIGHT])


def test_a_service_that_gives_the_same_page_again_and_again_is_an_error() -> None:
    feeds = Feeds(Place("R=", (Feed(WHOLE, '"1"', 3),)))
    with pytest.raises(CircleError, match="up to 3"):
        feeds.take(feeds.current, page_of(2, 3), {WHOLE: '"1"'}, 3)


# --- tokens


@pytest.mark.parametrize(
    ("text", "lsn"),
    [("0:-1#94", 94), ("3:1#94#1=20#2=18", 94), ("0:94", 94), ("0:-1#5,1:-1#7", 7), ("", None)],
)
def test_the_lsn_of_a_session_token_is_read_in_each_of_its_forms(
    text: str, lsn: int | None
) -> None:
    assert session_lsn(text) == lsn


def test_a_feed_with_a_token_is_asked_from_the_beginning_whatever_the_start_was() -> None:
    """The SDK cannot read its own token of a reading that began at a date."""
    asked = question(Feed(LEFT, '"94"', 94, since=1.7e9), "R=", "LatestVersion")
    state = json.loads(base64.b64decode(asked["continuation"]))
    assert state["startFrom"] == {"Type": "Beginning"}
    assert [each["token"] for each in state["continuation"]["continuation"]] == ['"94"']
    assert "start_time" in question(Feed(LEFT, since=1.7e9), "R=", "LatestVersion")


def test_an_answer_of_another_sdk_is_refused_with_what_to_do() -> None:
    with pytest.raises(AnswerError, match="pin azure-cosmos"):
        answer_of({"etag": "bm8="})


# --- budgets and refusals


def test_what_was_overdrawn_is_waited_for_and_a_member_has_its_share() -> None:
    budget = Budget(100.0)
    budget.share(1, 4)
    assert budget.wait_s(0.0) == 0.0
    budget.spend(50.0, 0.0)
    assert budget.wait_s(0.0) == pytest.approx(1.0)
    assert budget.wait_s(1.0) == pytest.approx(0.0)
    assert Budget(None).wait_s(0.0) == 0.0


@pytest.mark.parametrize(
    ("status", "is_fatal"),
    [(401, True), (403, True), (404, True), (400, True), (429, False), (410, False), (503, False),
     (None, False)],
)  # fmt: skip
def test_only_what_does_not_come_right_by_itself_is_fatal(
    status: int | None, is_fatal: bool
) -> None:
    trouble = trouble_of("container 'c'", status, "said", {"x-ms-retry-after-ms": "250"})
    assert trouble.is_fatal is is_fatal
    assert "container 'c'" in trouble.message
    assert trouble.at_least_s == (0.25 if status == 429 else 0.0)


def test_who_is_throttled_is_told_a_setting_that_there_is() -> None:
    message = trouble_of("container 'c'", 429, "said").message
    settings = ROOT.joinpath("docs", "settings.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"spec\.source\.cosmos\.(\w+)", message)
    assert f"| `{named}` |" in settings
