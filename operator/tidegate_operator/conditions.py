"""The conditions of a group beside Ready: whether it is so, why, and what can be done. Pure.

Rules:
- What the listing cannot say because there is none, or an old one, is Unknown.
- A condition says what is so now. That it was so is in the Events.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tidegate.balance import Move, plan, snapshot_of
from tidegate.bounded import cut
from tidegate.ledger.findings import natural
from tidegate.model import Listing, PartitionId
from tidegate.settings import MemberSettings
from tidegate_operator import size_conditions as sizes
from tidegate_operator.condition import Condition
from tidegate_operator.lag import PartitionLag
from tidegate_operator.lost_positions import LOST, lost_positions_text
from tidegate_operator.model import LedgerTrouble, SparkFacts
from tidegate_operator.readiness import NOT_READ, READY, UNOWNED, ready, unowned_for_long
from tidegate_operator.spark_status import RETRYING, remedy_of
from tidegate_operator.view import GroupView
from tidegate_operator.wording import (
    capital,
    counted,
    names_text,
    partitions_text,
    sentence,
    stopped,
)

BALANCED = "Balanced"
STUCK, LOSS, BEHIND, PAUSED = "Stuck", "RetentionLoss", "StateBehind", "Paused"
RESTORED = "CheckpointsRestored"

# What the ledger says, and nothing else does.
_OF_LEDGER = frozenset((BALANCED, sizes.BOUND, STUCK, LOSS, BEHIND, RESTORED))
# How long a restoration is reported after it was done.
_TOLD_S = 600.0

# What members believe by themselves, unless they are told otherwise.
_MEMBERS = MemberSettings(name="operator")
_TOLD = 3
# The remedy is at the end of the text about a blob.
_PROBLEM_CHARS = 700


def conditions(view: GroupView, before: dict[str, Condition]) -> tuple[Condition, ...]:
    """All of them, in the order in which people look.

    An operator that has just begun, and has not read the ledger, lets stand what was said last.
    """
    found = _all(view, before)
    if view.observation.ledger is not None or any(
        failure.reason in tuple(LedgerTrouble) for failure in view.observation.failures
    ):
        return found
    return tuple(
        before.get(each.type, each) if each.type in _OF_LEDGER or each.reason == NOT_READ else each
        for each in found
    )


def _all(view: GroupView, before: dict[str, Condition]) -> tuple[Condition, ...]:
    return (
        ready(view, before.get(READY)),
        _balanced(view, before.get(BALANCED)),
        sizes.scaling(view),
        sizes.bound(view),
        _stuck(view),
        _loss(view),
        _state_behind(view),
        _restored(view),
        _paused(view),
    )


# --- who owns what


def _balanced(view: GroupView, before: Condition | None) -> Condition:
    listing = view.listing
    if listing is None:
        return _not_read(BALANCED)
    if view.wish.is_paused:
        return Condition.so(BALANCED, "Paused", "Nobody is to own anything.")
    if not any(presence.is_alive for presence in listing.members.values()):
        if not view.wanted:
            return Condition.so(BALANCED, "ScaledToZero", "Nobody is to own anything.")
        return Condition.not_so(BALANCED, "NoMembers", "No member is alive: nothing is read.")
    unowned = unowned_for_long(view, before)
    if unowned:
        text = f"Nobody owns {partitions_text(unowned)}. Ready says what to look at."
        return Condition.not_so(BALANCED, UNOWNED, text)
    foreign = [p for p, row in listing.ownerships.items() if row.is_foreign and p in view.owners]
    if foreign:
        return Condition.not_so(
            BALANCED,
            "OtherProcessors",
            f"Another kind of processor owns {partitions_text(foreign)}. Stop it, or set "
            "spec.ledger.takesFromForeign: true.",
        )
    if view.unlisted:
        text = f"The ledger does not say yet that these have joined: {names_text(view.unlisted)}."
        return Condition.not_so(BALANCED, "Joining", text)
    return _as_planned(view, listing)


# Groups are looked at every few seconds, and most of the time they are as they were.
_plan = lru_cache(maxsize=1024)(plan)


def _as_planned(view: GroupView, listing: Listing) -> Condition:
    """What is left to do by the plan that all members make."""
    planned = _plan(
        snapshot_of(
            listing,
            view.partitions,
            roster_stale_s=_MEMBERS.roster_stale_s,
            foreign_alive_s=_MEMBERS.foreign_alive_s,
        )
    )
    if planned.moves:
        moves = counted(len(planned.moves), "move")
        return Condition.not_so(BALANCED, "Moving", f"{moves} left: {_told(planned.moves)}")
    if planned.awaited:
        names = names_text(sorted(set(planned.awaited.values())))
        what = partitions_text(planned.awaited)
        return Condition.not_so(BALANCED, "Waiting", f"{capital(what)} wait for {names}.")
    if view.unowned:
        what = partitions_text(view.unowned)
        return Condition.not_so(BALANCED, "Moving", f"{capital(what)} will have an owner.")
    return Condition.so(BALANCED, "Balanced", "Everybody owns what is due, and nothing moves.")


def _told(moves: tuple[Move, ...]) -> str:
    told = [
        f"partition {move.partition} {f'from {move.source} ' if move.source else ''}to "
        f"{move.target}: {move.reason}"
        for move in moves[:_TOLD]
    ]
    more = f"; and {len(moves) - _TOLD} more" if len(moves) > _TOLD else ""
    return stopped("; ".join(told) + more)


# --- what is wrong with the reading


def _stuck(view: GroupView) -> Condition:
    listing = view.listing
    if listing is None:
        return _not_read(STUCK)
    if view.steps.standing:
        return _standing(view)
    alive = [presence for presence in listing.members.values() if presence.is_alive]
    failing = {p: member.name for member in alive for p in member.stuck - member.declines}
    # What another has taken over is handled there.
    hanging = {
        p: member.name
        for member in alive
        for p in member.declines
        if view.owners.get(p, member.name) == member.name
    }
    if view.observation.spark is not None:
        return _stuck_on_spark(view, view.observation.spark, failing)
    halted = {p: failing[p] for member in alive for p in member.open_circuits if p in failing}
    if halted:
        members = sorted(set(halted.values()))
        what, them = partitions_text(halted), "them" if len(halted) > 1 else "it"
        return Condition.so(
            STUCK,
            "CircuitOpen",
            f"The handler fails on too many of the recent events of {what}, so that no more are "
            f"put aside and nothing is read: see {view.commands.logs(view.key, members)}. Fix the "
            "handler and roll it out, or mend what it writes to: the partition retries every "
            "spec.delivery.circuitBreaker.probeEverySeconds, and continues when that succeeds. "
            f"To resume {them} at once: "
            f"{view.commands.restart(view.key, sorted(halted, key=natural))}.",
        )
    if failing:
        members = sorted(set(failing.values()))
        return Condition.so(
            STUCK,
            "HandlerFails",
            f"The handler fails again and again at {partitions_text(failing)}, of "
            f"{names_text(members)}: see {view.commands.logs(view.key, members)}. Mend the "
            "handler; spec.delivery.onFailure: deadLetter puts such events aside.",
        )
    if hanging:
        members = sorted(set(hanging.values()))
        return Condition.so(
            STUCK,
            "HandlerHangs",
            f"A handler does not come back: {names_text(members)} cannot handle "
            f"{partitions_text(hanging)} for now. Others take it where they can; see "
            f"{view.commands.logs(view.key, members)}.",
        )
    return Condition.not_so(STUCK, "NotStuck", "No handler fails again and again, and none hangs.")


def _stuck_on_spark(
    view: GroupView, spark: SparkFacts, failing: Mapping[PartitionId, str]
) -> Condition:
    """A driver holds all members, and says itself what fails."""
    logs = view.commands.logs(view.key, [driver.called for driver in view.drivers])
    where = f"See {logs}."
    why = sentence(spark.note.failure) if spark.note.failure else ""
    remedy = remedy_of(spark.note.failure)
    if failing and remedy is not None:
        return Condition.so(
            STUCK,
            "BatchesFail",
            f"Batches fail again and again at {partitions_text(failing)}. {why} No event is to "
            f"blame, and none is put aside: the same come again until it is over. {remedy} {where}",
        )
    if failing:
        return Condition.so(
            STUCK,
            "PipelineFails",
            f"The pipeline fails again and again at {partitions_text(failing)}. {why} {where} Mend "
            "it; spec.delivery.onFailure: deadLetter puts such events aside.",
        )
    if spark.note.phase == RETRYING:
        return Condition.so(
            STUCK, "QueryFails", f"Spark's query ends and is begun anew. {why} {where}"
        )
    return Condition.not_so(STUCK, "NotStuck", "The pipeline does not fail again and again.")


def _standing(view: GroupView) -> Condition:
    standing = view.steps.standing
    tried = sorted({name for each in standing for name in each.tried})
    told = "; ".join(each.text for each in standing[:_TOLD])
    text = f"{sentence(told)} See {view.commands.logs(view.key, tried)}."
    if any(each.is_quarantined for each in standing):
        return Condition.so(STUCK, "PartitionsSetAside", text)
    return Condition.so(STUCK, "PositionStands", text)


def _loss(view: GroupView) -> Condition:
    lost = [(p, each) for p, each in view.lag.partitions.items() if each.is_lossy]
    if lost:
        told = [f"partition {p}: {_lost(each)}" for p, each in lost[:_TOLD]]
        more = f"; and {len(lost) - _TOLD} more" if len(lost) > _TOLD else ""
        return Condition.so(
            LOSS,
            "EventsLost",
            f"Retention has passed what was not handled: {'; '.join(told)}{more}. Reading goes on "
            "at the oldest event that is left. Want more pods, or keep events longer.",
        )
    unknown = [p for p, each in view.lag.partitions.items() if each.lag.events is None]
    if unknown:
        what = "the group" if len(unknown) == len(view.partitions) else partitions_text(unknown)
        return Condition.unknown(LOSS, "LagUnknown", f"It is not known how far {what} is behind.")
    return Condition.not_so(LOSS, "NothingLost", "The source has all that is not handled yet.")


def _lost(known: PartitionLag) -> str:
    """Which events are gone, as far as that is still known."""
    begins_at, handled = known.begins_at or 0, known.handled
    if handled is not None and handled + 1 < begins_at:
        return f"events {handled + 1} to {begins_at - 1}"
    return f"events before {begins_at}"


def _state_behind(view: GroupView) -> Condition:
    listing = view.listing
    if listing is None:
        return _not_read(BEHIND)
    behind = _behind(listing)
    if behind:
        return Condition.so(
            BEHIND,
            "StateBehind",
            f"Somebody else has moved the position of {partitions_text(behind)} and left the "
            "state: nobody reads on there. Rewind to the state's position to keep totals exact, "
            "or clear the state by a rewind to another place, such as "
            f"{view.commands.rewind(view.key)}.",
        )
    if view.lost:
        return Condition.so(BEHIND, LOST, lost_positions_text(view))
    flawed = [flaw for flaw in listing.flaws if flaw.partition is not None]
    if flawed:
        what = partitions_text({flaw.partition for flaw in flawed if flaw.partition is not None})
        return Condition.so(
            BEHIND,
            "LedgerUnreadable",
            f"{capital(what)} cannot be read from the ledger, and nobody reads on there: "
            f"{cut(flawed[0].problem, _PROBLEM_CHARS)}",
        )
    return Condition.not_so(BEHIND, "StatesMatch", "No state is known to be behind its position.")


def _behind(listing: Listing) -> list[PartitionId]:
    """Whose checkpoint stands at another position than its state."""
    found = [p for p, checkpoint in listing.checkpoints.items() if checkpoint.is_state_behind]
    return sorted(found, key=natural)


def _restored(view: GroupView) -> Condition:
    """Members say when they had to write checkpoints again."""
    listing = view.listing
    if listing is None:
        return _not_read(RESTORED)
    since = listing.server_time - _TOLD_S
    members = [each.name for each in listing.members.values() if each.restored_at > since]
    if members:
        return Condition.so(
            RESTORED,
            "WrittenAgain",
            "Find out who deletes or changes blobs of the ledger: a container or blobs of it "
            "were deleted, or checkpoints were changed by another client, while members ran. They "
            "have written their checkpoints again, and read on: see "
            f"{view.commands.logs(view.key, sorted(members))}. To move a checkpoint, use "
            f"{view.commands.rewind(view.key)}.",
        )
    return Condition.not_so(
        RESTORED, "Untouched", "Only the members have written or deleted checkpoints lately."
    )


def _paused(view: GroupView) -> Condition:
    if view.wish.is_paused:
        kept = counted(view.wish.paused_replicas, "pod")
        return Condition.so(
            PAUSED, "AsAsked", f"Nothing is read; {kept} kept. Set spec.paused: false to go on."
        )
    some = view.paused & set(view.partitions)
    if some:
        return Condition.not_so(
            PAUSED,
            "PartitionsPaused",
            f"Nobody reads {partitions_text(some)}, as spec.pausedPartitions says; the others go "
            "on.",
        )
    return Condition.not_so(PAUSED, "NotPaused", "Everything is to be read.")


def _not_read(type: str) -> Condition:
    return Condition.unknown(type, NOT_READ, "The group's ledger was not read yet, or not lately.")
