"""Blobs of the ledger that are deleted while members run: their owners write them again."""

from __future__ import annotations

from collections.abc import Iterator

from support.member_desk import Desk, alone
from tidegate.ledger.layout import Kind
from tidegate.member import messages as m
from tidegate.model import Checkpoint, Position, Rewind, Roster
from tidegate.ports import (
    CreateOwnership,
    ReadCheckpoint,
    Refusal,
    WriteCheckpoint,
    WriteRoster,
)

LEASE_S = 15.0


def stored(desk: Desk, partition: str = "0") -> Checkpoint:
    found = desk.ledger.perform_at(ReadCheckpoint(partition), desk.now)
    assert isinstance(found, Checkpoint)
    return found


def handled_to(sequence: int, state: bytes | None = None) -> Desk:
    """A member `a` that has read partition 0 so far, with a checkpoint of that."""
    desk = alone()
    desk.now += 6.0
    desk.renew("a")
    desk.handled("a", "0", sequence, state)
    desk.look()
    assert stored(desk).position.sequence == sequence
    return desk


def test_the_owner_makes_deleted_blobs_again_and_goes_on_from_memory() -> None:
    desk = handled_to(7, b"sum")
    before = stored(desk)
    desk.handled("a", "0", 9, b"more")
    desk.ledger.empty_by_hand()
    desk.look()
    found = stored(desk)
    assert (found.position.sequence, found.state) == (9, b"more")
    assert found.begun_at == before.begun_at
    assert found.epoch > before.epoch
    row = desk.listing().ownerships["0"]
    assert row.lease.is_held and row.owner == desk.members["a"].owner
    opened = [command for command in desk.said["a"] if isinstance(command, m.OpenReader)]
    assert (opened[-1].position.sequence, opened[-1].state) == (9, b"more")
    assert desk.reports("a").count("ledger-emptied") == 1
    assert desk.listing().members["a"].restored_at > 0


def test_many_partitions_are_told_once() -> None:
    desk = alone("0", "1", "2", "3")
    desk.ledger.empty_by_hand()
    desk.look()
    assert set(desk.listing().checkpoints) == {"0", "1", "2", "3"}
    assert desk.reports("a").count("ledger-emptied") == 1


def test_a_deleted_checkpoint_is_written_again_although_nothing_was_handled_since() -> None:
    desk = handled_to(7, b"sum")
    desk.ledger.delete_by_hand(Kind.CHECKPOINT, "0")
    desk.look()
    found = stored(desk)
    assert (found.position.sequence, found.state) == (7, b"sum")
    assert "checkpoint-restored" in desk.reports("a")
    assert desk.reading("a") == ["0"]


def test_a_deleted_ownership_alone_costs_no_position() -> None:
    desk = handled_to(7)
    epoch = stored(desk).epoch
    desk.ledger.delete_by_hand(Kind.OWNERSHIP, "0")
    desk.look()
    assert desk.reading("a") == ["0"]
    assert stored(desk).position.sequence == 7
    assert desk.listing().ownerships["0"].epoch == stored(desk).epoch > epoch


def test_who_is_to_leave_restores_before_it_goes() -> None:
    desk = handled_to(7, b"sum")
    desk.ledger.empty_by_hand()
    desk.tell("a", m.StopAsked(desk.now))
    for _ in range(8):
        desk.look()
    assert desk.members["a"].is_stopped
    found = stored(desk)
    assert (found.position.sequence, found.state) == (7, b"sum")


def test_a_container_that_is_missing_for_long_is_waited_for() -> None:
    desk = handled_to(7)
    desk.ledger.empty_by_hand()
    whole = desk._perform
    desk._perform = lambda _: (None, Refusal.ABSENT)  # type: ignore[method-assign, assignment]
    for _ in range(8):
        desk.look()
    assert desk.reading("a") == []
    desk._perform = whole  # type: ignore[method-assign]
    desk.look()
    assert desk.reading("a") == ["0"]
    assert stored(desk).position.sequence == 7


def test_others_leave_a_partition_to_its_owner_for_one_lease_period() -> None:
    desk = handled_to(7)
    desk.join("b")
    desk.look()
    # Only `b` looks from here on.
    desk.ledger.empty_by_hand()
    desk.look("b")
    assert "0" not in desk.listing().ownerships
    desk.now += LEASE_S
    for _ in range(2):
        desk.look("b")
    assert desk.reading("b") == ["0"]
    assert stored(desk).position.sequence == 7


def test_a_partition_whose_owner_nobody_else_has_seen_is_left_to_it_too() -> None:
    desk = handled_to(7)
    desk.join("b", weight=0.0)
    desk.look()
    desk.partitions = ("0", "1")
    desk.ask("a")
    desk.look("a")
    assert desk.reading("a") == ["0", "1"]
    # `b` has not looked since; alone in what it sees, it would take both.
    desk.ledger.empty_by_hand()
    desk.ask("b")
    desk.look("b")
    assert not desk.listing().ownerships
    desk.look()
    assert desk.reading("a") == ["0", "1"]


def test_a_state_that_went_with_its_owner_halts_the_partition_until_a_rewind() -> None:
    desk = handled_to(7, b"sum")
    desk.join("b")
    desk.look()
    desk.ledger.empty_by_hand()
    desk.now += LEASE_S + 1.0
    desk.look("b")
    desk.now += LEASE_S
    desk.look("b")
    halted = [c for c in desk.said["b"] if isinstance(c, m.Report) and c.kind == "halted"]
    assert "StateLost" in halted[-1].message and "position 7" in halted[-1].message
    assert "0" not in desk.listing().checkpoints
    rewind = Rewind("r1", "0", Position("3", 3))
    desk.ledger.perform_at(WriteRoster(Roster(rewinds=(rewind,)), ""), desk.now)
    desk.now += 31.0
    desk.look("b")
    found = stored(desk)
    assert (found.position.sequence, found.state, found.rewound_by) == (3, None, "r1")


def test_a_newcomer_that_began_anew_hands_the_partition_back_to_who_knows() -> None:
    desk = handled_to(7, b"sum")
    desk.ledger.empty_by_hand()
    # `a` is not heard for a while: `n` finds an empty ledger, and begins.
    desk.join("n")
    desk.look("n")
    assert desk.reading("n") == ["0"]
    assert stored(desk).position.sequence == -1
    desk.handled("n", "0", 12, b"of n")
    for _ in range(4):
        desk.look()
    assert desk.reading("a") == ["0"]
    found = stored(desk)
    assert (found.position.sequence, found.state) == (7, b"sum")
    # The announcement is withdrawn, and nothing moves any more.
    assert desk.listing().members["a"].recalls == {}
    owner = desk.listing().ownerships["0"].owner
    for _ in range(4):
        desk.look()
    assert desk.listing().ownerships["0"].owner == owner
    assert "checkpoint-restored" in desk.reports("a")


def test_the_owners_own_memory_goes_before_what_others_have_seen() -> None:
    desk = handled_to(7, b"sum")
    desk.join("b")
    desk.look()
    desk.ledger.empty_by_hand()
    desk.join("n")
    desk.look("n")
    desk.now += LEASE_S
    # Both know of the position: `b` from a listing, `a` with the state.
    for _ in range(6):
        desk.look()
    found = stored(desk)
    assert (found.position.sequence, found.state) == (7, b"sum")


def test_a_partition_that_another_reader_has_is_not_begun_and_goes_back_to_who_knows() -> None:
    desk = handled_to(7, b"sum")
    desk.ledger.empty_by_hand()
    whole = desk._follow

    def read_by_another(name: str, command: m.Command) -> Iterator[m.Event]:
        if isinstance(command, m.ResolveStart):
            yield m.ReaderFailed(desk.now, command.partition, command.serial, "it is read")
        else:
            yield from whole(name, command)

    desk._follow = read_by_another  # type: ignore[method-assign]
    desk.join("n")
    desk.look("n")
    assert desk.reports("n") == ["start-unknown"]
    assert "0" not in desk.listing().checkpoints
    for _ in range(4):
        desk.look()
    assert desk.reading("a") == ["0"]
    found = stored(desk)
    assert (found.position.sequence, found.state) == (7, b"sum")


def test_what_another_processor_wrote_meanwhile_goes_before_memory() -> None:
    desk = handled_to(7)
    desk.tell("a", m.StopAsked(desk.now))
    desk.look()
    desk.ledger.checkpoint_by_other("0", Position("20", 20), desk.now)
    desk.join("b")
    desk.look("b")
    assert stored(desk).position.sequence == 20


def test_a_ledger_that_was_put_back_is_brought_on_by_who_knows_more() -> None:
    desk = handled_to(7)
    found = stored(desk)
    later = stored(desk)
    desk.handled("a", "0", 30)
    desk.now += 6.0
    desk.look()
    # A restored backup: an earlier position under an earlier epoch.
    write = WriteCheckpoint(
        "0", stored(desk).etag, later.position, 0, "backup", begun_at=found.begun_at
    )
    desk.ledger.perform_at(write, desk.now)
    desk.handled("a", "0", 31)
    desk.now += 6.0
    desk.look()
    assert stored(desk).position.sequence == 31


def test_a_checkpoint_is_outdone_by_an_earlier_beginning_and_then_by_a_higher_epoch() -> None:
    found = Checkpoint("0", "e", Position("5", 5), 3, "n", begun_at=20.0)
    assert found.is_before(1, 10.0)
    assert not found.is_before(9, 30.0)
    assert found.is_before(4, 20.0)
    assert not found.is_before(3, 20.0)
    # One from before beginnings were noted is the earlier.
    assert found.is_before(1, None)
    by_hand = Checkpoint("0", "e", Position("5", 5), 0, "")
    assert not by_hand.is_before(9, 10.0)


def test_an_ownership_that_somebody_was_quicker_to_make_is_taken_if_it_is_free() -> None:
    desk = handled_to(7)
    desk.ledger.empty_by_hand()
    desk.ledger.perform_at(CreateOwnership("0"), desk.now)
    desk.look()
    assert desk.reading("a") == ["0"]
    assert stored(desk).position.sequence == 7
