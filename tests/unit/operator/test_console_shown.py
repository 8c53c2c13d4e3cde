"""The console's figures are those of the resource, and history is kept within bounds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tidegate.lag import UNKNOWN_LAG, Lag, LagKind, total
from tidegate_operator.page.shown import detail_of, row_of
from tidegate_operator.page.track import MOVES, SAMPLE_S, SAMPLES, Track
from tidegate_operator.plugin.reports import as_document, report_of
from tidegate_operator.waiting import drain_s
from unit.operator.plugin_groups import condition, group, member, state


def test_what_is_shown_of_a_group_is_what_kubectl_shows() -> None:
    document = group()
    shown, said = detail_of(document), as_document(report_of(document))
    assert shown["members"] == said["members"]
    assert shown["partitionStates"] == said["partitionStates"]
    for name in ("state", "wanted", "owned", "lag", "lagKind", "lagPartitions", "behind"):
        assert shown[name] == said[name]


@pytest.mark.parametrize(
    ("state_word", "tone"),
    [("Balanced", "well"), ("Moving", "busy"), ("Joining", "busy"), ("Paused", "rest"),
     ("ScaledToZero", "rest"), ("CrashLoop", "trouble"), ("Stuck", "trouble"),
     ("AnythingNew", "trouble")],
)  # fmt: skip
def test_how_a_group_is_is_one_of_four(state_word: str, tone: str) -> None:
    document = group()
    document["status"]["state"] = state_word
    assert row_of(document)["tone"] == tone


def test_a_group_that_nobody_has_looked_at_says_nothing_and_no_0() -> None:
    shown = row_of(group(status={}))
    assert shown["tone"] == "busy"
    nothing = ("state", "ready", "wanted", "owned", "lag", "behindSeconds", "drainSeconds")
    assert [shown[name] for name in nothing] == [None] * len(nothing)


def test_what_is_wrong_comes_before_what_is_only_worth_a_word() -> None:
    document = group()
    document["status"]["conditions"] = [
        condition("Scaling", "True", "ScalingOut", "More pods are being made."),
        condition("Stuck", "True", "HandlerFails", "Partition 3 fails."),
    ]
    assert row_of(document)["note"] == "Partition 3 fails."


def test_the_oldest_waits_as_long_as_that_of_any_partition() -> None:
    document = group()
    states = document["status"]["partitionStates"]
    states[2] |= {"lag": 5, "behindSeconds": 71.5}
    assert row_of(document)["behindSeconds"] == 71.5
    del document["status"]["partitionStates"]
    assert row_of(document)["behindSeconds"] == 2


SOME = st.builds(
    Lag,
    st.sampled_from((LagKind.EXACT, LagKind.ESTIMATED)),
    st.integers(0, 3),
    st.none() | st.integers(0, 900).map(float),
)


@given(st.lists(st.just(UNKNOWN_LAG) | SOME, min_size=1, max_size=5))
@example([Lag(LagKind.ESTIMATED, 7, None), Lag(LagKind.EXACT, 0, 0.0)])
def test_the_oldest_waits_as_long_as_the_status_says_and_unknown_where_that_is(
    lags: list[Lag],
) -> None:
    document = group()
    document["status"]["partitionStates"] = [
        state(str(at), "a", lag=lag.events, lagKind=str(lag.kind), behindSeconds=lag.behind_s)
        for at, lag in enumerate(lags)
    ]
    assert row_of(document)["behindSeconds"] == total(lags).lag.behind_s


@pytest.mark.parametrize(
    ("lag", "arriving", "handling", "expected"),
    [(0, None, None, 0.0), (100, 5.0, 15.0, 10.0), (100, 15.0, 15.0, None), (100, 20.0, 5.0, None),
     (None, 1.0, 2.0, None), (100, None, 2.0, None), (10**12, 1.0, 1.1, None)],
)  # fmt: skip
def test_the_time_to_drain_is_told_only_where_it_ends(
    lag: int | None, arriving: float | None, handling: float | None, expected: float | None
) -> None:
    assert drain_s(lag, arriving, handling) == expected


def test_where_letters_are_put_is_told_without_what_lets_one_in() -> None:
    letters = {"eventHub": {"hub": "letters", "connectionString": {"secret": "s", "key": "k"}}}
    spec = {"delivery": {"onFailure": "deadLetter", "deadLetters": letters}}
    shown = detail_of(group(spec=spec))
    assert shown["deadLetters"] == "event hub letters"
    assert "secret" not in str(shown)


def test_letters_are_counted_as_far_as_owners_tell_of_them() -> None:
    document = group()
    assert detail_of(document)["deadLettered"] is None
    states = [state("0", "a") | {"deadLettered": 2}, state("1", "b"), state("2", "a")]
    document["status"]["partitionStates"] = [*states, state("3", "b") | {"deadLettered": 0}]
    assert detail_of(document)["deadLettered"] == 2


def owned(owner: str | None, lag: int = 0) -> dict[str, object]:
    document = group()
    document["status"]["partitionStates"] = [state("7", owner, lag=lag)]
    document["status"]["members"] = [member("a"), member("b")]
    document["status"]["lag"] = lag
    return document


def test_a_hand_over_is_told_once_with_who_gave_and_who_got() -> None:
    track = Track()
    assert track.hear(owned("a"), 1.0)[1] == []
    assert track.hear(owned("a"), 2.0)[1] == []
    assert track.hear(owned(None), 3.0)[1] == []
    move = {"at": 4.0, "partition": "7", "from": "a", "to": "b"}
    assert track.hear(owned("b"), 4.0)[1] == [move]
    assert list(track.moves) == [move]


def test_history_is_bounded_and_its_beginning_stays() -> None:
    track = Track()
    for at in range(20 * SAMPLES):
        track.hear(owned("ab"[at % 2], lag=at), at * SAMPLE_S)
    samples = track.samples()
    assert len(samples) <= SAMPLES
    assert len(track.moves) == MOVES
    assert samples[0][0] == 0.0
    assert samples[-1][:2] == [(20 * SAMPLES - 1) * SAMPLE_S, 20 * SAMPLES - 1]
    assert [each[0] for each in samples] == sorted(each[0] for each in samples)


def test_samples_are_not_closer_than_they_may_be_and_know_what_is_not_known() -> None:
    track = Track()
    assert track.hear(group(status={}), 1.0)[0] == [1.0, *[None] * 6]
    assert track.hear(owned("a"), 1.5)[0] is None
    assert track.hear(owned("a", 3), 1.0 + SAMPLE_S)[0] == [3.0, 3.0, 0.0, 2.0, 2.0, None, None]
