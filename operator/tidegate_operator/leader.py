"""Which of several operators acts: the one that holds a Lease of the cluster.

Rules:
- What to do is decided purely (`turn_of`): a Lease is free where nobody holds it, or where it has
  not changed for as long as it says, by our own clock, since we first saw it so. Nobody compares
  its own clock with the times that stand in the Lease.
- Every write carries the resourceVersion that was seen, so that one of two takers loses.
- The right to act counts from when the renewal was sent, and ends before others may take the Lease.
  When it ends all acts are cancelled, whatever they wait for; they are fenced besides.
- Two believe that they lead only where a clock stands still or goes wrong by a fifth: a machine
  that was stopped from outside goes on where it was. It learns of it by its next renewal, which is
  refused, and the Lease is read at once: after `renew_s` and two requests one of them is left. In
  so short a time nobody writes sizes in turn: each write is of the Deployment that was seen, a size
  that somebody has raised is lowered only after a stable while, and nobody goes before it was told.
- A clean end gives the Lease back, so that the next one need not wait.
- The Lease names the namespaces that its holder watches. For a group in another namespace it is the
  only sign that no operator watches it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from tidegate_operator.settings import OperatorSettings

_log = logging.getLogger("tidegate.operator.leader")

# By which the Leases of operators are found.
LEASE_LABELS: Mapping[str, str] = {"tidegate.dev/lease": "operator"}
# The namespaces that are watched, with commas between them; '' for all of them.
NAMESPACES = "tidegate.dev/namespaces"

Document = dict[str, Any]


class LeaseTaken(Exception):
    """Another operator wrote the Lease first."""


class LeaseUnreachable(Exception):
    """The Lease cannot be read or written now; the message says why."""


class Leases(Protocol):
    """The one Lease, in the cluster."""

    async def read(self) -> Document | None: ...

    async def write(self, lease: Document) -> Document:
        """Makes it, or changes it where it is as it was read. Raises LeaseTaken."""


class Turn(StrEnum):
    """What is to be done with the Lease."""

    TAKE = "take"
    RENEW = "renew"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Lease as it was seen, and since when, by our own clock, it has not changed."""

    holder: str
    version: str
    lease_s: float
    since: float


def sighting_of(lease: Mapping[str, Any], before: Sighting | None, now: float) -> Sighting:
    version = str(lease.get("metadata", {}).get("resourceVersion", ""))
    if before is not None and before.version == version:
        return before
    spec = lease.get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    return Sighting(holder, version, float(spec.get("leaseDurationSeconds") or 0), now)


def turn_of(seen: Sighting | None, me: str, now: float) -> Turn:
    """What `me` is to do; None where there is no Lease yet."""
    if seen is None or not seen.holder:
        return Turn.TAKE
    if seen.holder == me:
        return Turn.RENEW
    return Turn.TAKE if now - seen.since > seen.lease_s else Turn.WAIT


def written(
    lease: Document | None, settings: OperatorSettings, turn: Turn, wall: float
) -> Document:
    """The Lease as it is to be."""
    spec: Document = dict((lease or {}).get("spec") or {})
    at = datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if turn is Turn.TAKE:
        changes = int(spec.get("leaseTransitions") or 0)
        spec |= {"acquireTime": at, "leaseTransitions": changes + (lease is not None)}
    spec |= {
        "holderIdentity": settings.identity,
        "leaseDurationSeconds": round(settings.lease_s),
        "renewTime": at,
    }
    metadata: Document = {
        "name": settings.leader_name,
        "namespace": settings.leader_namespace,
        "labels": dict(LEASE_LABELS),
        "annotations": {NAMESPACES: ",".join(settings.namespaces)},
    }
    if lease is not None:
        metadata["resourceVersion"] = lease["metadata"]["resourceVersion"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }


def namespaces_of(lease: Mapping[str, Any]) -> tuple[str, ...]:
    """Which namespaces the holder of a Lease watches; empty for all of them."""
    said = str((lease["metadata"].get("annotations") or {}).get(NAMESPACES, ""))
    return tuple(each for each in said.split(",") if each)


class Leader:
    """See the module. `now` only goes forward, also while the machine sleeps; `wall` is for people
    who read the Lease."""

    def __init__(
        self,
        leases: Leases,
        settings: OperatorSettings,
        now: Callable[[], float],
        wall: Callable[[], float],
        dice: Callable[[], float],
    ) -> None:
        self._leases = leases
        self._settings = settings
        self._now = now
        self._wall = wall
        self._dice = dice
        self._seen: Sighting | None = None
        self._lease: Document | None = None
        self._leads_until = float("-inf")
        # Who holds the Lease, and since when he was seen to.
        self._led_by, self._led_since = "", now()
        # Why the Lease could not be read or written the last time.
        self._trouble = ""
        # When the Lease was last looked after, whatever came of it.
        self.tried_at = now()

    @property
    def is_leading(self) -> bool:
        return self._now() < self._leads_until

    @property
    def holder(self) -> str:
        """Who holds the Lease, as far as it was seen."""
        return self._seen.holder if self._seen is not None else ""

    @property
    def led_for_s(self) -> float:
        """How long the one who leads now has been seen to lead; 0 where nobody does, by what was
        seen: a Lease that nobody renews, or that cannot be read, leads to no status."""
        seen, now = self._seen, self._now()
        is_renewed = seen is not None and bool(seen.holder) and now - seen.since <= seen.lease_s
        return now - self._led_since if is_renewed or self.is_leading else 0.0

    def is_led(self) -> bool:
        """Whether somebody leads, here or elsewhere."""
        return self.led_for_s > 0.0

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """For ever: `lead` runs while this operator leads, and is cancelled when it does not."""
        try:
            while True:
                await self._try_once()
                if self.is_leading:
                    await self._reign(lead)
                await asyncio.sleep(self._settings.renew_s * (0.2 + 0.2 * self._dice()))
        finally:
            await self._give_back()

    async def _reign(self, lead: Callable[[], Awaitable[None]]) -> None:
        _log.info("this operator leads as %s", self._settings.identity)
        acting = asyncio.ensure_future(lead())
        try:
            while self.is_leading and not acting.done():
                pause = min(self._settings.renew_s, self._leads_until - self._now())
                await asyncio.wait([acting], timeout=max(pause, 0.0))
                if not acting.done():
                    await self._renew_in_time()
            if acting.done():
                acting.result()
            else:
                _log.warning(
                    "this operator no longer leads: %s holds the Lease. All acts are ended.",
                    self.holder or "nobody",
                )
        finally:
            acting.cancel()
            # What it ends with is told above, or is the cancellation.
            await asyncio.wait([acting])

    async def _renew_in_time(self) -> None:
        """Tries until it is done, or the right to act has ended."""
        while self.is_leading:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._leads_until - self._now()):
                    if await self._try_once() or not self.is_leading:
                        return
                    await asyncio.sleep(self._settings.renew_s * 0.2)

    async def _try_once(self) -> bool:
        """Takes or renews the Lease if that is our turn; whether we hold it now."""
        try:
            try:
                held = await self._take_or_renew()
            except LeaseTaken:
                # Somebody wrote it, or it was us and the answer was lost: it is read, and until
                # then nobody acts on what was seen.
                self._lease = None
                held = await self._take_or_renew()
        except LeaseTaken:
            self._lease = None
            return False
        except LeaseUnreachable as problem:
            self._complain(str(problem))
            return False
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as problem:
            # The answer, or the object with this name, is no Lease.
            self._lease = None
            self._complain(f"the Lease cannot be read ({type(problem).__name__}: {problem})")
            return False
        self._complain("")
        return held

    async def _take_or_renew(self) -> bool:
        """Raises LeaseTaken, LeaseUnreachable."""
        self.tried_at = self._now()
        if self._lease is None or not self.is_leading:
            self._lease = await self._leases.read()
            self._see(self._lease)
        turn = turn_of(self._seen, self._settings.identity, self._now())
        if turn is Turn.WAIT:
            self._leads_until = float("-inf")
            return False
        sent_at = self._now()
        document = written(self._lease, self._settings, turn, self._wall())
        self._lease = await self._leases.write(document)
        self._see(self._lease)
        self._leads_until = sent_at + self._settings.leads_for_s
        return True

    def _see(self, lease: Document | None) -> None:
        now, seen = self._now(), self._seen
        self._seen = sighting_of(lease, seen, now) if lease is not None else None
        if self.holder != self._led_by:
            self._led_by, self._led_since = self.holder, now

    def _complain(self, trouble: str) -> None:
        """Says each trouble once, and that it is over."""
        if trouble and trouble != self._trouble:
            _log.warning("the Lease of the leader: %s", trouble)
        elif self._trouble and not trouble:
            _log.info("the Lease of the leader can be read and written again")
        self._trouble = trouble

    async def _give_back(self) -> None:
        """Lets the Lease go, if it is ours; what does not work ends by itself."""
        if not self.is_leading or self._lease is None:
            return
        self._leads_until = float("-inf")
        document = written(self._lease, self._settings, Turn.RENEW, self._wall())
        document["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
        with contextlib.suppress(LeaseTaken, LeaseUnreachable, TimeoutError):
            async with asyncio.timeout(self._settings.renew_s):
                await self._leases.write(document)
