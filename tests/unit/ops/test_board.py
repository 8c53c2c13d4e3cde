"""The board: who owns what, how fast, how far behind; and never a lag that is not known."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from support.ops_facts import NOW, WALL, board_of, handled, listing, tell
from tidegate.lag import Lag, LagKind
from tidegate.member.messages import Report
from tidegate.model import BEGINNING, Position, Roster
from tidegate.ops import observer as facts
from tidegate.ops.board import FELL_BACK, RATE_WINDOW_S, Board, Loss, Rate, Row


def row_of(board: Board, partition: str, now: float = NOW) -> Row:
    return {row.partition: row for row in board.rows(now, WALL + now - NOW)}[partition]


def reading(*told: facts.Fact) -> Board:
    """A board of a member that reads partition 0."""
    board = Board("pod-1")
    tell(board, facts.ReaderOpened(NOW - 100, "0", 7), *told)
    return board


def end(sequence: int, at: float = NOW, begins_at: int | None = None) -> facts.EndKnown:
    return facts.EndKnown(at, "0", sequence, None, begins_at)


def test_rows_are_in_the_order_of_numbers_and_name_each_owner() -> None:
    rows = board_of(12, 2).rows(NOW, WALL)
    assert [row.partition for row in rows] == [str(number) for number in range(12)]
    assert [row.owner for row in rows] == ["pod-1"] * 2 + ["pod-2"] * 10
    assert [row.is_ours for row in rows] == [True] * 2 + [False] * 10


def test_a_partition_whose_lease_nobody_holds_has_no_owner() -> None:
    board = board_of(2, 1)
    board.hear(facts.Listed(NOW, listing({"0": "pod-1", "1": None}, ("pod-1",))))
    assert row_of(board, "1").owner is None


def test_our_own_knowledge_is_newer_than_the_listing() -> None:
    board = board_of(2, 1)
    board.hear(facts.ReaderOpened(NOW, "1", 8))
    assert row_of(board, "1").owner == "pod-1"
    board.hear(facts.ReaderClosed(NOW, "1", "closed"))
    assert row_of(board, "1").owner == "pod-2"


def test_lag_is_the_events_after_the_last_that_was_handled() -> None:
    board = reading(handled("0", 90, age_s=3.0), end(99))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 9, 3.0)


def test_lag_is_unknown_until_both_ends_of_it_are_known() -> None:
    assert row_of(reading(), "0").lag == Lag(LagKind.UNKNOWN)
    assert row_of(reading(handled("0", 90)), "0").lag == Lag(LagKind.UNKNOWN)
    assert row_of(reading(end(99)), "0").lag == Lag(LagKind.UNKNOWN)


def test_before_the_first_batch_lag_counts_from_the_checkpoint() -> None:
    board = Board("pod-1")
    stored = listing({"0": "pod-1"}, ("pod-1",), {"0": 50})
    tell(board, facts.Listed(NOW, stored), facts.ReaderOpened(NOW, "0", 7), end(99))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 49, 60.0)


def test_before_the_first_batch_lag_counts_from_where_reading_began() -> None:
    """Also where the last listing does not show the checkpoint yet that opening has made."""
    board = Board("pod-1")
    opened = facts.ReaderOpened(NOW, "0", 7, Position("50", 50))
    tell(board, opened, end(99))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 49, None)
    stored = listing({"0": "pod-1"}, ("pod-1",), {"0": 50})
    tell(board, facts.Listed(NOW, stored), opened, end(99))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 49, 60.0)


def test_what_waits_where_nothing_was_ever_handled_is_estimated() -> None:
    opened = facts.ReaderOpened(NOW, "0", 7, BEGINNING)
    assert row_of(reading(opened, end(99)), "0").lag == Lag(LagKind.ESTIMATED, 100, None)
    left = reading(opened, end(99, begins_at=60))
    assert row_of(left, "0").lag == Lag(LagKind.ESTIMATED, 40, None), "nothing is lost"
    empty = reading(opened, end(-1))
    assert row_of(empty, "0").lag == Lag(LagKind.EXACT, 0, 0.0)


def test_an_older_word_on_the_end_does_not_replace_a_newer_one() -> None:
    board = reading(handled("0", 90), end(99, at=NOW), end(95, at=NOW - 3))
    assert row_of(board, "0").lag.events == 9


def test_where_a_partition_begins_stays_known_when_only_its_end_is_told() -> None:
    board = reading(handled("0", 10), end(99, begins_at=50), end(120))
    assert row_of(board, "0").lag == Lag(LagKind.LOST, 71, 1.0)


def test_a_loss_that_the_first_batch_has_jumped_over_is_noticed() -> None:
    opened = facts.ReaderOpened(NOW, "0", 7, Position("10", 10))
    board = reading(opened, handled("0", 99), end(150, begins_at=50))
    assert board.places["0"].lost == Loss(NOW, 11, 50)
    assert row_of(board, "0").lag.kind is LagKind.EXACT


def test_what_is_old_when_it_was_long_handled_is_no_loss() -> None:
    opened = facts.ReaderOpened(NOW - 3600, "0", 7, Position("10", 10))
    board = reading(opened, handled("0", 99), end(150, begins_at=50))
    assert board.places["0"].lost is None


def test_a_report_that_the_sdk_reads_is_kept() -> None:
    board = reading()
    assert not board.has_fallen_back
    board.hear(facts.Reported(NOW, Report(FELL_BACK, None, "something new")))
    assert board.has_fallen_back


def test_what_retention_has_passed_is_lost_and_counts_only_what_is_left() -> None:
    board = reading(handled("0", 10), end(99, begins_at=50))
    assert row_of(board, "0").lag == Lag(LagKind.LOST, 50, 1.0)


def test_who_has_handled_all_is_not_behind_however_old_the_last_event_is() -> None:
    board = reading(handled("0", 99, age_s=3600.0), end(99))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 0, 0.0)


def test_the_first_event_after_an_idle_hour_does_not_make_it_an_hour_behind() -> None:
    board = reading(handled("0", 99, age_s=3600.0), end(99, at=NOW - 5), end(100, at=NOW))
    assert row_of(board, "0").lag == Lag(LagKind.EXACT, 1, 5.0)


def test_a_position_beyond_the_end_that_was_told_is_no_negative_lag() -> None:
    assert row_of(reading(end(99), handled("0", 120)), "0").lag.events == 0


def test_a_partition_that_comes_back_forgets_what_was_known_of_it() -> None:
    board = reading(handled("0", 90), end(99))
    tell(board, facts.ReaderClosed(NOW, "0", "stolen"), facts.ReaderOpened(NOW, "0", 9))
    assert row_of(board, "0").lag == Lag(LagKind.UNKNOWN)
    assert row_of(board, "0").rate == 0.0


def test_stuck_stays_until_a_batch_goes_well() -> None:
    board = reading(facts.BatchFailed(NOW, "0", 5, 9, "ValueError: bad", is_stuck=True))
    assert row_of(board, "0").note == "Stuck: ValueError: bad"
    board.hear(handled("0", 90))
    assert row_of(board, "0").note == ""


@given(st.lists(st.tuples(st.floats(0, 60), st.integers(0, 1000)), min_size=1, max_size=60))
def test_a_rate_is_never_more_than_what_came_within_its_window(
    steps: list[tuple[float, int]],
) -> None:
    rate, now = Rate(), 0.0
    for pause, count in steps:
        now += pause
        rate.add(now, count)
    came = sum(count for _, count in steps)
    assert 0 <= rate.at(now) <= came
    assert rate.at(now + 3 * RATE_WINDOW_S) == 0.0


def test_a_steady_stream_has_its_own_rate() -> None:
    rate = Rate()
    for number in range(300):
        rate.add(number / 10, 25)
    assert abs(rate.at(30.0) - 250) < 25


def test_members_and_presence_are_those_of_the_last_listing() -> None:
    board = board_of(2, 1)
    assert board.members() == ("pod-1", "pod-2")
    assert board.is_present()
    found = board.listing
    assert found is not None
    board.hear(facts.Listed(NOW, replace(found, members={})))
    assert not board.is_present()


def said(board: Board, owners: dict[str, str | None], roster: Roster) -> Board:
    """The next listing."""
    tell(board, facts.Listed(NOW, replace(listing(owners, ("pod-1", "pod-2")), roster=roster)))
    return board


def test_what_nobody_reads_is_told_unless_it_is_paused() -> None:
    owners: dict[str, str | None] = {"0": "pod-1", "1": "pod-1", "2": "pod-2", "3": None}
    board = said(board_of(4, 2), owners, Roster())
    assert board.unread() == ("3",)
    assert said(board, owners, Roster(paused=frozenset("3"))).unread() == ()
    assert said(board, owners, Roster(paused=frozenset("2"))).unread() == ("3",)


def test_a_paused_group_misses_no_reader() -> None:
    nobodys: dict[str, str | None] = dict.fromkeys("0123", None)
    board = Board("pod-1")
    tell(board, facts.PartitionsKnown(NOW, tuple(nobodys)))
    assert said(board, nobodys, Roster(is_paused=True)).unread() == ()
    assert said(board, nobodys, Roster()).unread() == ("0", "1", "2", "3")


def test_what_the_ledger_gives_us_and_we_no_longer_read_is_unread() -> None:
    """As where storage is out of reach of all: the last listing would say that all is well."""
    board = board_of(4, 2)
    tell(board, facts.LeaseEnded(NOW, "0", "lapsed"), facts.ReaderClosed(NOW, "0", "closed"))
    assert board.unread() == ("0",)
