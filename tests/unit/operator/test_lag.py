"""Lag of a group: from figures while a member lives, from the source when none does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.lag import UNKNOWN_LAG, Lag, LagKind
from tidegate.model import Figures, Flaw, Owner, Position
from tidegate.ports import of_lost_position
from tidegate.sources.start import Start
from tidegate_operator.lag import GroupLag, lag_of_group
from tidegate_operator.model import SILENT_S, Ends
from unit.operator.looked_at import Looks, end, figures, stored
from unit.operator.observed import NOW, SERVER_NOW, Seen, group

EXACT, ESTIMATED, LOST = LagKind.EXACT, LagKind.ESTIMATED, LagKind.LOST


def lag_of(looks: Looks, partition: str = "0") -> Lag:
    assert looks.lag is not None
    return looks.lag.partitions[partition].lag


def whole(looks: Looks) -> GroupLag:
    assert looks.lag is not None
    return looks.lag


def one(partitions: int = 1, members: int = 1) -> Seen:
    """A group whose partitions are stored at 90."""
    seen = group(members, partitions, asked_before_s=0.5)
    for partition in seen.owners:
        stored(seen, partition, 90, enqueued_at=NOW - 30)
    return seen


def nobody(partitions: int = 1) -> Seen:
    """The same, without anybody who lives."""
    seen = one(partitions)
    seen.owners = dict.fromkeys(seen.owners, "")
    seen.pods.clear()
    seen.members.clear()
    return seen


# --- while members live


def test_the_owner_says_how_far_it_is_and_how_far_the_partition_is() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95, behind_s=1.5))
    assert lag_of(Looks(seen).look()) == Lag(EXACT, 4, 2.0)


def test_a_checkpoint_that_is_newer_than_the_figures_counts() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=80, behind_s=1.5))
    assert lag_of(Looks(seen).look()).events == 9


def test_the_wait_goes_on_while_the_figures_grow_old() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95, behind_s=1.5), age_s=20.0)
    assert lag_of(Looks(seen).look()) == Lag(EXACT, 4, 22.0)


def test_figures_of_a_member_that_no_longer_owns_the_partition_count_for_nothing() -> None:
    seen = one(1, members=2)
    figures(seen, "m1", "0", Figures(end=99, handled=95))
    assert lag_of(Looks(seen).look()) == UNKNOWN_LAG


def test_figures_of_an_earlier_life_count_for_nothing() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95))
    seen.lives["0"] = "an earlier one"
    assert lag_of(Looks(seen).look()) == UNKNOWN_LAG


def test_figures_that_are_older_than_a_minute_count_for_nothing() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95), age_s=61.0)
    assert lag_of(Looks(seen).look()) == UNKNOWN_LAG


def test_a_listing_that_is_older_than_a_minute_says_no_lag() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95))
    seen.asked_before_s = 61.0
    assert lag_of(Looks(seen).look()) == UNKNOWN_LAG


def test_storage_that_does_not_answer_makes_all_of_it_unknown_within_seconds() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95))
    seen.unanswered_for_s = SILENT_S - 0.1
    assert lag_of(Looks(seen).look()).kind is EXACT
    seen.unanswered_for_s = SILENT_S
    looks = Looks(seen).fail("LedgerUnreachable").look()
    assert lag_of(looks) == UNKNOWN_LAG
    for type in ("Ready", "Balanced", "Stuck", "RetentionLoss", "StateBehind"):
        assert looks.says(type)[0] == "Unknown"
    assert looks.told["state"] == "LedgerUnreachable"
    assert not looks.told.keys() & {"lag", "owned", "unread"}
    seen.unanswered_for_s = None
    looks.failures = ()
    assert looks.look().says("Ready") == ("True", "Ready")


def test_a_listing_of_the_future_says_no_lag_for_nobody_knows_how_old_it_is() -> None:
    """The clock was set back after it was asked for."""
    seen = one()
    figures(seen, "m0", "0", Figures(end=99, handled=95))
    seen.asked_before_s = -0.1
    assert lag_of(Looks(seen).look()) == UNKNOWN_LAG
    assert Looks(seen).look().says("Balanced") == ("Unknown", "LedgerNotRead")
    seen.asked_before_s = 0.1
    assert lag_of(Looks(seen).look()).kind is EXACT


def test_after_the_clock_was_set_back_what_is_told_now_counts_at_once() -> None:
    seen = nobody(2)
    looks = Looks(seen, ends=Ends({"0": end(90), "1": None})).look()
    looks.ends = Ends({"0": end(99, known_at=NOW - 3600.0), "1": None})
    looks.look(after_s=-3600.0)
    assert lag_of(looks).events == 9
    assert whole(looks).clear_at == {}, "nothing has waited for an hour before it came"
    assert set(whole(looks).unowned_since.values()) == {NOW - 3600.0}


def test_a_partition_on_its_way_to_another_member_keeps_the_end_that_was_known() -> None:
    seen = one(1, members=2)
    figures(seen, "m0", "0", Figures(end=99, handled=95, behind_s=1.0))
    looks = Looks(seen).look()
    seen.owners["0"] = "m1"
    stored(seen, "0", 97, enqueued_at=NOW - 4)
    assert lag_of(looks.look(after_s=2.0)) == Lag(EXACT, 2, 6.0)
    assert lag_of(looks.look(after_s=60.0)) == UNKNOWN_LAG


def test_what_the_owner_says_to_be_lost_is_lost_and_only_what_is_left_counts() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=199, handled=90, behind_s=9.0, begins_at=150))
    looks = Looks(seen).look()
    assert (lag_of(looks).kind, lag_of(looks).events) == (LOST, 50)
    assert whole(looks).partitions["0"].begins_at == 150


# --- when no member lives


def test_without_members_the_source_is_believed() -> None:
    ends = Ends({"0": end(99, enqueued_at=NOW - 2)})
    assert lag_of(Looks(nobody(), ends=ends).look()) == Lag(EXACT, 9, 30.0)


def test_a_single_event_waits_since_it_was_enqueued() -> None:
    ends = Ends({"0": end(91, enqueued_at=NOW - 2)})
    assert lag_of(Looks(nobody(), ends=ends).look()) == Lag(EXACT, 1, 2.0)


def test_an_idle_hour_before_the_first_event_is_no_wait() -> None:
    looks = Looks(nobody(), ends=Ends({"0": end(90)})).look()
    assert lag_of(looks) == Lag(EXACT, 0, 0.0)
    looks.ends = Ends({"0": end(95, known_at=NOW + 20, enqueued_at=NOW + 19)})
    assert lag_of(looks.look(after_s=20.0)) == Lag(EXACT, 5, 20.0)


def test_what_the_source_said_longer_than_a_minute_ago_counts_for_nothing() -> None:
    ends = Ends({"0": end(99, known_at=NOW - 61)})
    assert lag_of(Looks(nobody(), ends=ends).look()) == UNKNOWN_LAG


def test_retention_is_told_from_the_first_event_that_the_source_has() -> None:
    for ends in (Ends({"0": end(199)}, {"0": 150}), Ends({"0": end(199, begins_at=150)})):
        assert lag_of(Looks(nobody(), ends=ends).look()) == Lag(LOST, 50, 30.0)


def test_one_partition_that_cannot_be_asked_does_not_hide_the_others() -> None:
    ends = Ends({"0": end(99), "1": None, "2": end(95)})
    looks = Looks(nobody(3), ends=ends).look()
    assert lag_of(looks, "1") == UNKNOWN_LAG
    total = whole(looks).total
    assert (total.lag.events, total.known, total.partitions) == (14, 2, 3)


# --- what was never read


def never(start: Start, of: Ends | None) -> Lag:
    seen = nobody()
    seen.checkpoints.clear()
    return lag_of(Looks(seen, start=start, ends=of).look())


def test_a_partition_that_was_never_read_is_estimated_from_the_start() -> None:
    ends = Ends({"0": end(99, begins_at=40, enqueued_at=NOW - 5)})
    assert never(Start(), ends) == Lag(ESTIMATED, 0, 0.0)
    assert never(Start("earliest"), ends).events == 60
    assert never(Start("time", at=NOW - 60), ends) == Lag(ESTIMATED, 60, 60.0)
    assert never(Start("time", at=NOW - 4), ends) == Lag(ESTIMATED, 0, 0.0)
    assert never(Start("position", position=Position(sequence=89)), ends).events == 10
    assert never(Start("earliest"), Ends({"0": None})) == UNKNOWN_LAG


def test_the_source_tells_of_partitions_that_the_ledger_does_not_know() -> None:
    looks = Looks(nobody(), start=Start("earliest"), ends=Ends({"0": end(99), "5": end(9)}))
    looks.look()
    assert list(whole(looks).partitions) == ["0", "5"]
    assert lag_of(looks, "5") == Lag(ESTIMATED, 10)


def test_a_checkpoint_that_cannot_be_read_is_not_taken_for_one_that_is_not_there() -> None:
    seen = nobody()
    seen.checkpoints.clear()
    seen.flaws = (Flaw("…/checkpoint/0", "it cannot be read", "0"),)
    looks = Looks(seen, start=Start("earliest"), ends=Ends({"0": end(99)}))
    assert lag_of(looks.look()) == UNKNOWN_LAG


def test_without_a_listing_nothing_is_estimated() -> None:
    seen = nobody()
    seen.has_ledger = False
    looks = Looks(seen, start=Start("earliest"), ends=Ends({"0": end(99)}))
    assert lag_of(looks.look()) == UNKNOWN_LAG


# --- for how long nobody reads a partition


def test_a_partition_without_an_owner_is_remembered_since_when() -> None:
    seen = one(2)
    seen.owners["1"] = ""
    looks = Looks(seen).look().look(after_s=7.0)
    assert whole(looks).unowned_since == {"1": NOW}
    seen.owners["1"] = "m0"
    assert whole(looks.look(after_s=1.0)).unowned_since == {}


def test_a_paused_partition_misses_nobody() -> None:
    seen = one(2)
    seen.owners["1"] = ""
    seen.wish = replace(seen.wish, paused_partitions=frozenset({"1"}))
    assert whole(Looks(seen).look()).unowned_since == {}


def test_what_another_processor_owns_has_an_owner_while_that_one_lives() -> None:
    for age_s, unowned in ((10.0, {}), (200.0, {"0": NOW})):
        observation = nobody().look()
        assert observation.ledger is not None
        listing = observation.ledger.listing
        theirs = replace(
            listing.ownerships["0"],
            owner=Owner("theirs"),
            is_foreign=True,
            modified_at=SERVER_NOW - age_s,
        )
        view = replace(observation.ledger, listing=replace(listing, ownerships={"0": theirs}))
        found = lag_of_group(replace(observation, ledger=view), Start(), None)
        assert found.unowned_since == unowned


def test_a_loss_that_the_owner_tells_is_told_also_when_reading_has_gone_on_behind_it() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=199, handled=180, behind_s=0.5, begins_at=150))
    looks = Looks(seen).look()
    assert lag_of(looks) == Lag(EXACT, 19, 1.0)
    assert whole(looks).partitions["0"].is_lossy


def test_that_the_source_has_dropped_what_was_handled_is_no_loss() -> None:
    looks = Looks(nobody(), ends=Ends({"0": end(199, begins_at=91)})).look()
    assert not whole(looks).partitions["0"].is_lossy


# --- partitions without a reader


def unreadable(trouble: str = "no such consumer group") -> Seen:
    """A partition that its owner cannot read, with stale figures of the owner."""
    seen = one(2)
    figures(seen, "m0", "0", Figures(end=90, handled=90))
    figures(seen, "m0", "1", Figures(end=90, handled=90))
    member = seen.members["m0"]
    seen.members["m0"] = replace(member, unread=frozenset({"0"}), trouble=trouble)
    return seen


def test_of_a_partition_that_its_owner_cannot_read_only_the_source_says_how_much_waits() -> None:
    looks = Looks(unreadable()).look()
    assert lag_of(looks) == UNKNOWN_LAG, "what its owner knew is of a time before"
    assert lag_of(looks, "1") == Lag(EXACT, 0, 0.0)
    looks.ends = Ends({"0": end(390, known_at=NOW - 1.0), "1": end(90)})
    assert lag_of(looks.look()) == UNKNOWN_LAG, "the source said it before"
    looks.ends = Ends({"0": end(390, known_at=NOW + 2.0), "1": end(90)})
    assert lag_of(looks.look(after_s=2.0)).events == 300
    assert lag_of(looks).kind is EXACT


def test_the_source_is_asked_for_since_nobody_reads_and_no_longer() -> None:
    seen = unreadable()
    looks = Looks(seen).look()
    assert whole(looks).lonely_since == NOW and whole(looks).is_missed
    assert whole(looks.look(after_s=3.0)).lonely_since == NOW
    seen.members["m0"] = replace(seen.members["m0"], unread=frozenset(), trouble="")
    assert whole(looks.look(after_s=1.0)).lonely_since is None


def test_a_partition_that_has_no_owner_for_long_is_told_by_the_source_alone() -> None:
    seen = one(2)
    for partition in ("0", "1"):
        figures(seen, "m0", partition, Figures(end=90, handled=90))
    looks = Looks(seen).look()
    seen.owners["0"] = ""
    assert lag_of(looks.look(after_s=1.0)) == Lag(EXACT, 0, 0.0), "it is on its way"
    assert whole(looks).lonely_since is None
    assert lag_of(looks.look(after_s=5.0)) == UNKNOWN_LAG
    assert whole(looks).lonely_since == NOW + 1.0
    looks.ends = Ends({"0": end(390, known_at=NOW + 7.0), "1": end(90)})
    assert lag_of(looks.look(after_s=1.0)).events == 300


def test_so_is_one_that_is_paused() -> None:
    seen = one(2)
    seen.owners["0"] = ""
    seen.wish = replace(seen.wish, paused_partitions=frozenset({"0"}))
    looks = Looks(seen).look().look(after_s=6.0)
    assert whole(looks).lonely == {"0"} and whole(looks).unowned_since == {}
    assert not whole(looks).is_missed, "nobody should read it"


def test_what_was_known_long_before_a_partition_lost_its_owner_is_not_its_lag() -> None:
    seen = one()
    figures(seen, "m0", "0", Figures(end=90, handled=90))
    looks = Looks(seen).look()
    # Storage was away for half a minute, and leases ran out meanwhile.
    seen.owners["0"], seen.members = "", {}
    assert lag_of(looks.look(after_s=30.0)) == UNKNOWN_LAG


@pytest.mark.parametrize("by", ["owner", "position"])
def test_a_position_that_means_nothing_to_the_source_has_no_lag(by: str) -> None:
    seen = unreadable(of_lost_position("the hub was made anew") if by == "owner" else "refused")
    looks = Looks(seen).look()
    last = 390 if by == "owner" else 89
    looks.ends = Ends({"0": end(last, known_at=NOW + 2.0), "1": end(90)})
    assert lag_of(looks.look(after_s=2.0)) == UNKNOWN_LAG
    assert whole(looks).partitions["0"].handled == 90
    assert looks.says("RetentionLoss") == ("Unknown", "LagUnknown")
    assert "partition 0" in looks.condition("RetentionLoss").message
