"""A member's presence: its blob, the lease that shows that it lives, and what it announces. Pure.

Rules:
- 6: presence is a lease too. Until it is held the member owns nothing and wants nothing; a second
  process of one name never gets it, and says who holds the name.
- The blob is written again only when what it says has changed, or is not what a listing shows: a
  write has no condition but the lease, so an older one that was late can stand over a newer.
- What others act upon is announced at once. Figures wait for their time, and go along with anything
  else that is announced; that time is shorter while more and more events wait. Neither ever keeps a
  renewal waiting.
- That a partition is not read is announced at once. The words on it may differ with each attempt:
  alone they wait as figures do that have not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidegate.bounded import cut
from tidegate.member.messages import Answered, Command, FiguresMeasured, Perform, Report
from tidegate.member.steps import NEVER
from tidegate.model import Figures, LeaseState, Owner, PartitionId, Presence, Recalled
from tidegate.ports import Announce, Join, Leave, Operation, Refusal, RenewPresence
from tidegate.settings import MemberSettings

_RETRY_S = 1.0
_NAME_TAKEN_RETRY_S = 5.0
_TROUBLE_CHARS = 400
# So many events more that wait than was said are more than what comes and goes: by what is handled
# in so long, and at least.
_MORE_S, _MORE_LEAST = 1.0, 10.0


class Membership:
    """This member's own blob."""

    def __init__(self, settings: MemberSettings, owner: Owner, lease_id: str) -> None:
        self._settings = settings
        self._owner = owner
        self.lease_id = lease_id
        self.is_present = False
        self.has_left = False
        self._said: Presence | None = None
        self._said_at = float("-inf")
        self._in_flight: Operation | None = None
        self._announcing: Announce | None = None
        self._announced_at = float("-inf")
        # After one that failed, the next is sent from then on.
        self._again_at: float | None = None
        # Kept as they are while they stay equal, so that a change is seen at a glance.
        self._figures: Mapping[PartitionId, Figures] = MappingProxyType({})
        self._stuck: frozenset[PartitionId] = frozenset()
        self._unread: frozenset[PartitionId] = frozenset()
        self._open_circuits: frozenset[PartitionId] = frozenset()
        self._trouble = ""
        self._next_at = float("-inf")
        self._was_refused = False

    @property
    def wake_at(self) -> float:
        if self.has_left:
            return NEVER
        next_at = NEVER if self._in_flight is not None else self._next_at
        again_at = NEVER if self._again_at is None else self._again_at
        return min(next_at, again_at, self._figures_due_at())

    def on_time(self, now: float) -> list[Command]:
        """Joins or renews."""
        if self._in_flight is not None or self.has_left or now < self._next_at:
            return []
        if self.is_present:
            return self._send(RenewPresence(self._owner.name, self.lease_id))
        return self._send(Join(self._owner.name, self.lease_id))

    def measured(self, event: FiguresMeasured) -> None:
        """What our partitions' figures are now, and which partitions are stuck or not read."""
        self._stuck, self._unread = event.stuck, event.unread
        self._open_circuits = event.open_circuits
        self._trouble = cut(event.trouble, _TROUBLE_CHARS)
        if event.figures != self._figures:
            self._figures = event.figures

    def announce(
        self,
        loads: Mapping[PartitionId, float],
        wants: Mapping[PartitionId, str],
        declines: frozenset[PartitionId],
        recalls: Mapping[PartitionId, Recalled],
        restored_at: float,
        now: float,
        *,
        is_leaving: bool,
    ) -> list[Command]:
        """Announces what has changed."""
        said, stuck = self._said, self._stuck | declines
        is_said = (
            said is not None
            and said.loads == loads
            and said.wants == wants
            and said.declines == declines
            and said.stuck == stuck
            and said.unread == self._unread
            and said.open_circuits == self._open_circuits
            and said.recalls == recalls
            and said.restored_at == restored_at
            and said.is_leaving == is_leaving
        )
        if self._again_at is not None and now >= self._again_at:
            self._again_at = None
        if self._announcing is not None or self._again_at is not None or not self.is_present:
            return []
        if is_said and now < self._figures_due_at():
            return []
        wish = Presence(
            self._owner.name,
            "",
            LeaseState.LEASED,
            self._owner.incarnation,
            self._settings.weight,
            MappingProxyType(dict(loads)),
            MappingProxyType(dict(wants)),
            is_leaving,
            declines,
            self._settings.pod_uid,
            self._settings.started_at,
            stuck,
            self._figures,
            unread=self._unread,
            trouble=self._trouble,
            open_circuits=self._open_circuits,
            recalls=MappingProxyType(dict(recalls)),
            restored_at=restored_at,
        )
        self._announcing, self._announced_at = Announce(wish, self.lease_id), now
        return [Perform(None, self._announcing)]

    def _figures_due_at(self) -> float:
        """When figures are a reason to announce, if nothing else is."""
        said = self._said
        if said is None or self._announcing is not None or not self.is_present:
            return NEVER
        is_same = self._figures is said.figures
        if is_same and not said.figures and self._trouble == said.trouble:
            return NEVER
        pause = self._settings.figures_keep_s if is_same else self._settings.figures_every_s
        if not is_same and _is_more_waiting(said.figures, self._figures):
            pause = self._settings.figures_soon_s
        due_at = self._announced_at + pause
        return due_at if self._again_at is None else max(due_at, self._again_at)

    def see(self, found: Presence | None, sent_at: float) -> None:
        """What a listing shows of us: an older write of ours may have come late, or a hand."""
        said = self._said
        if said is None or sent_at < self._said_at:
            return
        is_as_said = (
            found is not None
            and found.wants == said.wants
            and found.declines == said.declines
            # Only as many as fit are written.
            and bool(found.recalls) == bool(said.recalls)
            and found.is_leaving == said.is_leaving
            and found.incarnation == said.incarnation
            and found.loads.keys() == said.loads.keys()
        )
        if not is_as_said:
            self._said = None

    def leave(self) -> list[Command]:
        """The last thing that a member does."""
        self.has_left = True
        self.is_present = False
        return [Perform(None, Leave(self._owner.name, self.lease_id))]

    def _send(self, operation: Operation) -> list[Command]:
        self._in_flight = operation
        return [Perform(None, operation)]

    def on_answer(self, event: Answered) -> list[Command]:
        if event.operation is self._announcing:
            self._on_announced(event, self._announcing)
            return []
        if event.operation is not self._in_flight:
            return []
        self._in_flight = None
        if event.refusal is None:
            self.is_present = True
            self._was_refused = False
            self._next_at = event.sent_at + self._settings.renew_every_s
            return []
        if event.refusal in (Refusal.UNKNOWN, Refusal.BUSY):
            self._next_at = event.now + _RETRY_S
            return []
        return self._on_lost(event)

    def _on_announced(self, event: Answered, operation: Announce) -> None:
        self._announcing = None
        if event.refusal is None:
            self._said, self._said_at = operation.presence, event.now
        elif event.refusal in (Refusal.UNKNOWN, Refusal.BUSY):
            self._again_at = event.now + _RETRY_S
        else:
            # A renewal that is under way says nothing more.
            self._in_flight, self._next_at = None, event.now
            self.is_present, self._said = False, None

    def _on_lost(self, event: Answered) -> list[Command]:
        """Somebody else has the name, or the blob is gone: it is joined anew."""
        was_present, self.is_present, self._said = self.is_present, False, None
        self._announcing = None
        is_taken = event.refusal is Refusal.HELD and not was_present
        self._next_at = event.now + (_NAME_TAKEN_RETRY_S if is_taken else _RETRY_S)
        if was_present or self._was_refused:
            return []
        self._was_refused = True
        kind = "name-taken" if is_taken else "not-present"
        text = (
            f"another process is the member {self._owner.name!r}: this one owns nothing until "
            "that one has ended. Give each process a name of its own."
            if is_taken
            else f"cannot take part: {event.message or event.refusal}"
        )
        return [Report(kind, None, text)]


def _is_more_waiting(
    said: Mapping[PartitionId, Figures], figures: Mapping[PartitionId, Figures]
) -> bool:
    """Whether clearly more events wait than was said."""
    handling = sum(each.handling or 0.0 for each in figures.values())
    more = _waiting(figures) - _waiting({p: each for p, each in said.items() if p in figures})
    return more > max(handling * _MORE_S, _MORE_LEAST)


def _waiting(figures: Mapping[PartitionId, Figures]) -> int:
    return sum(
        max(each.end - each.handled, 0)
        for each in figures.values()
        if each.end is not None and each.handled is not None
    )
