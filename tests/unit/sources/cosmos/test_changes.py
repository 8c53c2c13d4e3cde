"""A change of the feed: the mode says how it is read, whatever a user's item holds."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from tidegate.delivery.letters import Failure, letter_of
from tidegate.model import Position
from tidegate.sources.cosmos.change import Change, ChangeError, change_of
from tidegate.sources.cosmos.places import beginning
from tidegate.sources.cosmos.ranges import WHOLE
from tidegate.sources.cosmos.settings import FeedMode

# What users call their own properties.
PROPERTIES: tuple[dict[str, Any], ...] = (
    {"metadata": "text"},
    {"metadata": {"operationType": "delete"}},
    {"metadata": {"operationType": "delete", "lsn": 99, "crts": 5, "id": "other"}},
    {"metadata": {}, "current": 7},
    {"current": {"id": "other"}, "previous": {"id": "other"}, "metadata": {"lsn": 1}},
    {"current": None, "metadata": None},
    {"current": [1], "previous": "x", "metadata": [2]},
)


def item(own: dict[str, Any], number: int = 0) -> Change:
    said = {"id": f"a{number}", "_rid": "r", "_lsn": 5, "_ts": 1_700_000_000, **own}
    change = change_of(said, FeedMode.LATEST_VERSION)
    change.put_at(beginning("R=", WHOLE))
    return change


@pytest.mark.parametrize("own", PROPERTIES)
def test_in_the_latest_version_mode_an_item_is_itself_whatever_its_properties_are_called(
    own: dict[str, Any],
) -> None:
    change = item(own)
    assert change.current is change
    assert change.current["id"] == "a0"
    assert (change.operation, change.previous, change.metadata) == ("upsert", None, {})
    assert (change.lsn, change.enqueued_at) == (5, 1_700_000_000.0)
    again = pickle.loads(pickle.dumps(change))
    assert (again, again.lsn, again.operation) == (change, 5, "upsert")


@pytest.mark.parametrize("own", PROPERTIES)
def test_a_dead_letter_of_any_item_has_a_name_of_its_own(own: dict[str, Any]) -> None:
    failure = Failure.of(ValueError("no"), 1, "a", 0.0)
    letters = [letter_of("-ff", item(own, n), failure) for n in range(2)]
    assert [json.loads(each.body)["id"] for each in letters] == ["a0", "a1"]
    assert letters[0].position.sequence != letters[1].position.sequence
    assert all(each.position.sequence // 1_000_000 == 5 for each in letters)


def test_in_the_other_mode_the_envelope_says_what_became_of_an_item_that_has_the_same_names() -> (
    None
):
    current = {"id": "a", "metadata": {"operationType": "create"}, "current": 1, "_lsn": 77}
    said = {
        "current": current,
        "previous": {"id": "a", "current": 0},
        "metadata": {"lsn": 6, "crts": 1_700_000_001, "operationType": "replace"},
    }
    change = change_of(said, FeedMode.ALL_VERSIONS_AND_DELETES)
    assert change.current == current
    assert change.previous == {"id": "a", "current": 0}
    assert (change.lsn, change.operation, change.enqueued_at) == (6, "replace", 1_700_000_001.0)


def test_letters_of_changes_of_one_transaction_are_told_apart_by_their_items() -> None:
    def name(id: str) -> Position:
        said = {"current": {"id": id, "_rid": id}, "metadata": {"lsn": 6}}
        change = change_of(said, FeedMode.ALL_VERSIONS_AND_DELETES)
        change.put_at(beginning("R=", WHOLE))
        return change.letter_place

    assert name("a") != name("b")


@pytest.mark.parametrize(
    ("said", "mode"),
    [
        ({"id": "a", "_ts": 5}, FeedMode.LATEST_VERSION),
        ({"id": "a", "_lsn": None}, FeedMode.LATEST_VERSION),
        ({"id": "a", "_lsn": "no"}, FeedMode.LATEST_VERSION),
        ({"id": "a", "_lsn": True}, FeedMode.LATEST_VERSION),
        ({"id": "a", "metadata": {"lsn": 5}}, FeedMode.LATEST_VERSION),
        ({"current": {"id": "a"}, "_lsn": 5}, FeedMode.ALL_VERSIONS_AND_DELETES),
        ({"current": {"id": "a"}, "metadata": "text"}, FeedMode.ALL_VERSIONS_AND_DELETES),
        ({"id": "a", "_lsn": 5}, FeedMode.ALL_VERSIONS_AND_DELETES),
    ],
)
def test_a_change_that_cannot_be_put_in_order_is_refused_and_says_what_it_lacks(
    said: dict[str, Any], mode: FeedMode
) -> None:
    with pytest.raises(ChangeError, match="without a log sequence number"):
        change_of(said, mode)
