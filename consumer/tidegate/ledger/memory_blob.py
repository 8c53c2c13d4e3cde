"""One blob and its lease in memory: the states and refusals of Blob storage.

Rules: pure; the service's time is passed in. The states are those that Microsoft documents for a
lease: available, leased, expired, breaking, broken. A lease that ended keeps its id until the blob
is written or leased again, so its holder may still renew it. Lease calls never change the ETag.
A condition is looked at before the lease, as Azurite does.
"""

from __future__ import annotations

from tidegate.model import LeaseState
from tidegate.ports import LedgerError, Refusal

AVAILABLE = LeaseState.AVAILABLE
LEASED = LeaseState.LEASED
EXPIRED = LeaseState.EXPIRED
BREAKING = LeaseState.BREAKING
BROKEN = LeaseState.BROKEN

NEVER = float("inf")


class MemoryBlob:
    """A blob: its ETag, its content, and its lease."""

    __slots__ = ("breaks_at", "content", "etag", "expires_at", "lease_id", "modified_at", "name")

    def __init__(self, name: str, etag: str, content: object, now: float) -> None:
        self.name = name
        self.etag = etag
        self.content = content
        self.modified_at = now
        self.lease_id: str | None = None
        self.expires_at = 0.0
        # When a break that was asked for comes true; None where nobody broke the lease.
        self.breaks_at: float | None = None

    def state(self, now: float) -> LeaseState:
        if self.lease_id is None:
            return AVAILABLE
        if self.breaks_at is not None:
            return BREAKING if now < self.breaks_at else BROKEN
        return LEASED if now < self.expires_at else EXPIRED

    def changes_at(self, now: float) -> float:
        """When the state will change by itself."""
        if self.lease_id is None:
            return NEVER
        at = self.expires_at if self.breaks_at is None else self.breaks_at
        return at if now < at else NEVER

    def match(self, etag: str) -> None:
        """If-Match."""
        if etag != self.etag:
            raise LedgerError(
                Refusal.CHANGED, f"{self.name} has changed: it is {self.etag}, not {etag}"
            )

    def acquire(self, lease_id: str, seconds: float, now: float) -> None:
        state = self.state(now)
        if (state is LEASED and lease_id != self.lease_id) or state is BREAKING:
            raise self._held(state)
        self.lease_id = lease_id
        self.expires_at = now + seconds
        self.breaks_at = None

    def renew(self, lease_id: str, seconds: float, now: float) -> None:
        if lease_id != self.lease_id or self.breaks_at is not None:
            raise self._held(self.state(now))
        self.expires_at = now + seconds

    def change(self, lease_id: str, new_lease_id: str, now: float) -> None:
        """Gives the lease another id. Its clock goes on; repeating it is fine."""
        state = self.state(now)
        if state is not LEASED or self.lease_id not in (lease_id, new_lease_id):
            raise self._held(state)
        self.lease_id = new_lease_id

    def release(self, lease_id: str, now: float) -> None:
        if lease_id != self.lease_id:
            raise self._held(self.state(now))
        self.forget_lease()

    def break_lease(self, now: float, seconds: float = 0.0) -> None:
        """Ends the lease after so many seconds, or when it would have ended, if that is sooner."""
        state = self.state(now)
        if state is AVAILABLE:
            raise self._held(state)
        if state in (LEASED, BREAKING):
            ends = self.expires_at if self.breaks_at is None else self.breaks_at
            self.breaks_at = min(now + seconds, ends)
        elif self.breaks_at is None:
            self.breaks_at = self.expires_at

    def authorise(self, lease_id: str | None, now: float) -> None:
        """Whether a write with this lease id, or without one, may be done."""
        is_locked = self.state(now) in (LEASED, BREAKING)
        if lease_id != self.lease_id if is_locked else lease_id is not None:
            held = "is leased" if is_locked else "has no lease"
            raise LedgerError(Refusal.CHANGED, f"{self.name} {held}: the write was refused")

    def write(self, content: object, etag: str, now: float) -> None:
        """Puts content in. A lease that had ended is forgotten with it."""
        if self.state(now) not in (LEASED, BREAKING):
            self.forget_lease()
        self.content = content
        self.etag = etag
        self.modified_at = now

    def forget_lease(self) -> None:
        self.lease_id = None
        self.breaks_at = None

    def _held(self, state: LeaseState) -> LedgerError:
        return LedgerError(Refusal.HELD, f"the lease of {self.name} is {state} and not this one")
