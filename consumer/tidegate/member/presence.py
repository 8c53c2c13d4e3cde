"""A member's presence: its blob, the lease that shows that it lives, and what it announces. Pure.

Rules:
- 6: presence is a lease too. Until it is held the member owns nothing and wants nothing; a second
  process of one name never gets it, and says who holds the name.
- The blob is written again only when what it says has changed, or is not what a listing shows: a
  write has no condition but the lease, so an older one that was late can stand over a newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tidegate.member.messages import Answered, Command, Perform, Report
from tidegate.model import LeaseState, Owner, PartitionId, Presence
from tidegate.ports import Announce, Join, Leave, Operation, Refusal, RenewPresence
from tidegate.settings import MemberSettings

_RETRY_S = 1.0
_NAME_TAKEN_RETRY_S = 5.0


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
        self._next_at = float("-inf")
        self._was_refused = False

    @property
    def wake_at(self) -> float:
        return float("inf") if self._in_flight is not None or self.has_left else self._next_at

    def on_time(self, now: float) -> list[Command]:
        """Joins or renews."""
        if self._in_flight is not None or self.has_left or now < self._next_at:
            return []
        if self.is_present:
            return self._send(RenewPresence(self._owner.name, self.lease_id))
        return self._send(Join(self._owner.name, self.lease_id))

    def announce(
        self,
        loads: Mapping[PartitionId, float],
        wants: Mapping[PartitionId, str],
        declines: frozenset[PartitionId],
        *,
        is_leaving: bool,
    ) -> list[Command]:
        """Announces what has changed."""
        said = self._said
        is_said = (
            said is not None
            and said.loads == loads
            and said.wants == wants
            and said.declines == declines
            and said.is_leaving == is_leaving
        )
        if is_said or self._in_flight is not None or not self.is_present:
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
        )
        return self._send(Announce(wish, self.lease_id))

    def see(self, found: Presence | None, sent_at: float) -> None:
        """What a listing shows of us: an older write of ours may have come late, or a hand."""
        said = self._said
        if said is None or sent_at < self._said_at:
            return
        is_as_said = (
            found is not None
            and found.wants == said.wants
            and found.declines == said.declines
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
        if event.operation is not self._in_flight:
            return []
        self._in_flight = None
        if isinstance(event.operation, Announce):
            return self._on_announced(event, event.operation)
        if event.refusal is None:
            self.is_present = True
            self._was_refused = False
            self._next_at = event.sent_at + self._settings.renew_every_s
            return []
        if event.refusal in (Refusal.UNKNOWN, Refusal.BUSY):
            self._next_at = event.now + _RETRY_S
            return []
        return self._on_lost(event)

    def _on_announced(self, event: Answered, operation: Announce) -> list[Command]:
        if event.refusal is None:
            self._said, self._said_at = operation.presence, event.now
        elif event.refusal in (Refusal.UNKNOWN, Refusal.BUSY):
            self._next_at = min(self._next_at, event.now + _RETRY_S)
        else:
            self._next_at = event.now
            self.is_present = False
            self._said = None
        return []

    def _on_lost(self, event: Answered) -> list[Command]:
        """Somebody else has the name, or the blob is gone: it is joined anew."""
        was_present, self.is_present, self._said = self.is_present, False, None
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
