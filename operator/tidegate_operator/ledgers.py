"""The ledgers of the groups, over as few connections as there are accounts.

Rules:
- A listing is asked for in the background: who wants it waits a little, and then takes the newest
  that there is. Storage that hangs holds up nobody but its own group, and not even that one's
  other affairs.
- A listing that failed is asked for again after a pause that doubles, never shorter than storage
  asks for; a change of credentials is tried at once.
- The time of a listing is that before it was sent.
- A ledger is of one group: see claims.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from tidegate.commands.ledgers import LeasePlace, LedgerPlace, open_ledger
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.ledger.refusals import MissingContainerError
from tidegate.model import Listing
from tidegate.ports import Ledger, LedgerError, List, Operation, Refusal, Reply
from tidegate_operator.accounts import Accounts
from tidegate_operator.erasing import erase
from tidegate_operator.model import Failure, GroupKey, LedgerTrouble, LedgerView
from tidegate_operator.pauses import asked_pause_s, pause_s
from tidegate_operator.quick_looks import QuickLooks
from tidegate_operator.settings import OperatorSettings

if TYPE_CHECKING:
    from tidegate.ledger.cosmos.ledger import CosmosLedger

# A round waits for so long for a listing that has begun.
PATIENCE_S = 1.0
# A listing that is younger than this is not asked for again.
FRESH_S = 0.4
# Of a group on which nothing goes on the whole ledger is listed this often.
WHOLE_EVERY_S = 20.0
_LONGEST_PAUSE_S = 15.0

_TROUBLES = {
    Refusal.DENIED: LedgerTrouble.DENIED,
    Refusal.INVALID: LedgerTrouble.INVALID,
    Refusal.MISSING: LedgerTrouble.MISSING,
}


def failure_of(problem: LedgerError, since: float) -> Failure:
    """Why a ledger could not be listed, for a condition."""
    if isinstance(problem, MissingContainerError):
        return Failure(LedgerTrouble.MISSING, str(problem), since)
    trouble = _TROUBLES.get(problem.refusal, LedgerTrouble.UNREACHABLE)
    return Failure(trouble, str(problem), since)


class Opened(Protocol):
    """A group, as far as its ledger goes."""

    @property
    def ledger(self) -> LedgerPlace: ...

    @property
    def names(self) -> GroupNames: ...


@dataclass(frozen=True, slots=True)
class LedgerAt:
    """Where a ledger is, and how one is let in."""

    ledger: LedgerPlace
    names: GroupNames


def place_of(at: Opened) -> str:
    """Where a ledger is, without how one is let in: another text for another ledger."""
    where = at.ledger.settings if isinstance(at.ledger, LeasePlace) else at.ledger
    host = where.host.lower()
    host = host.removesuffix(":80" if where.is_plain else ":443").removesuffix(".")
    within = where.account.lower() if isinstance(where, BlobSettings) else where.database
    return f"{host}/{within}/{where.container}/{at.names.prefix}"


@dataclass(slots=True)
class _Shelf:
    """One group's ledger, and the newest that it said."""

    ledger: Ledger
    # Of Blob storage alone.
    quick: QuickLooks | None
    # What it was opened with.
    place: LedgerPlace
    names: GroupNames
    view: LedgerView | None = None
    failure: Failure | None = None
    failures: int = 0
    failed_at: float = float("-inf")
    not_before: float = float("-inf")
    # When the whole of it was asked for.
    listed_at: float = float("-inf")
    is_stale: bool = True
    asking: asyncio.Task[None] | None = field(default=None)


class Ledgers:
    """See the module. `now` is the clock of Observation; `changed` wakes a group."""

    def __init__(
        self,
        settings: OperatorSettings,
        now: Callable[[], float],
        dice: Callable[[], float],
        changed: Callable[[GroupKey], None],
    ) -> None:
        self._settings = settings
        self._now = now
        self._dice = dice
        self._changed = changed
        self.accounts = Accounts(settings.identity_hosts)
        self._shelves: dict[GroupKey, _Shelf] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def open(self, key: GroupKey, setup: Opened) -> None:
        """This group's ledger is there, with these credentials. Raises IdentityRefusedError."""
        shelf = self._shelves.get(key)
        if shelf is not None and (shelf.place, shelf.names) == (setup.ledger, setup.names):
            return
        fresh = self._opened(setup.ledger, setup.names)
        if shelf is not None and shelf.names == setup.names:
            fresh.view = shelf.view
        self.forget(key)
        self._shelves[key] = fresh

    def _opened(self, place: LedgerPlace, names: GroupNames) -> _Shelf:
        if isinstance(place, LeasePlace):
            self.accounts.check_leases(place.settings)
            return _Shelf(open_ledger(place, names, is_member=False), None, place, names)
        client = self.accounts.client(place)
        ledger = BlobLedger(place, names, client)
        return _Shelf(ledger, QuickLooks(client, place, names, ledger.relisting), place, names)

    def forget(self, key: GroupKey) -> None:
        shelf = self._shelves.pop(key, None)
        if shelf is None:
            return
        if shelf.asking is not None:
            shelf.asking.cancel()
        if isinstance(shelf.place, LeasePlace):
            # Its connections are its own.
            closing = asyncio.create_task(shelf.ledger.close(), name=f"closing of {key}")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def tidy(self) -> None:
        """Lets go of what was opened for groups that have gone."""
        places = [shelf.place for shelf in self._shelves.values()]
        used = {(each.host, each.ca_file) for each in places if isinstance(each, BlobSettings)}
        await self.accounts.keep_only(used)

    async def look(
        self, key: GroupKey, *, is_settled: bool = False
    ) -> tuple[LedgerView | None, Failure | None]:
        """The newest listing, which is asked for if it is time; and why there is no newer one.

        Of a group on which nothing goes on it may be what its members say, on a listing that is a
        little older.
        """
        shelf = self._shelves.get(key)
        if shelf is None:
            return None, None
        if shelf.asking is None and self._is_due(shelf):
            is_quick = is_settled and not shelf.is_stale and self._may_be_quick(shelf)
            asks = self._ask(key, shelf, is_quick=is_quick)
            shelf.asking = asyncio.create_task(asks, name=f"listing of {key}")
        asking = shelf.asking
        if asking is not None:
            await asyncio.wait([asking], timeout=PATIENCE_S)
            if asking.done() and not asking.cancelled():
                asking.result()
        return shelf.view, shelf.failure

    async def perform(self, key: GroupKey, operation: Operation) -> Reply:
        """Carries an operation out; the next look lists again. Raises LedgerError."""
        shelf = self._shelves[key]
        try:
            return await shelf.ledger.perform(operation)
        finally:
            shelf.is_stale = True

    async def read(self, key: GroupKey, operation: Operation) -> Reply:
        """Asks the ledger for something that changes nothing. Raises LedgerError."""
        return await self._shelves[key].ledger.perform(operation)

    async def close(self) -> None:
        asking = [shelf.asking for shelf in self._shelves.values() if shelf.asking is not None]
        for key in list(self._shelves):
            self.forget(key)
        await asyncio.gather(*asking, *self._closing, return_exceptions=True)
        await self.accounts.close()

    def _is_due(self, shelf: _Shelf) -> bool:
        now = self._now()
        # A failure of the future is one before the clock was set back.
        if shelf.failed_at <= now < shelf.not_before:
            return False
        if shelf.is_stale or shelf.view is None:
            return True
        return not shelf.view.is_of(now, FRESH_S)

    def _may_be_quick(self, shelf: _Shelf) -> bool:
        is_young = 0.0 <= self._now() - shelf.listed_at < WHOLE_EVERY_S
        if shelf.view is None or shelf.failure is not None or not is_young:
            return False
        # Where nobody lives nobody says anything.
        return any(member.is_alive for member in shelf.view.listing.members.values())

    async def _listing(self, shelf: _Shelf, *, is_quick: bool) -> LedgerView:
        if is_quick and shelf.view is not None and shelf.quick is not None:
            asked_at = self._now()
            said = await shelf.quick.look(shelf.view.listing)
            if said is not None:
                return LedgerView(said, asked_at)
        asked_at = shelf.listed_at = self._now()
        listing = await shelf.ledger.perform(List())
        assert isinstance(listing, Listing)
        return LedgerView(listing, asked_at)

    async def _ask(self, key: GroupKey, shelf: _Shelf, *, is_quick: bool) -> None:
        began = self._now()
        try:
            async with self.accounts.room(shelf.place):
                shelf.is_stale = False
                view = await self._listing(shelf, is_quick=is_quick)
        except LedgerError as problem:
            shelf.failures += 1
            since = shelf.failure.since if shelf.failure is not None else began
            shelf.failure = failure_of(problem, since)
            pause = pause_s(
                shelf.failures, self._settings.first_pause_s, _LONGEST_PAUSE_S, self._dice
            )
            shelf.failed_at = self._now()
            shelf.not_before = shelf.failed_at + max(pause, asked_pause_s(problem))
        else:
            shelf.view = view
            shelf.failure, shelf.failures = None, 0
        finally:
            shelf.asking = None
        if self._now() - began > PATIENCE_S:
            # Nobody waits for it any more.
            self._changed(key)

    async def erase(self, key: GroupKey) -> int:
        """Removes the blobs of a group's ledger, where no lease holds any; how many are left.

        Raises LedgerError. Blobs that are not of a ledger stay, whatever their names begin with.
        """
        shelf = self._shelves[key]
        shelf.is_stale = True
        if isinstance(shelf.place, LeasePlace):
            ledger: CosmosLedger = cast("CosmosLedger", shelf.ledger)
            return await ledger.erase()
        return await erase(self.accounts.client(shelf.place), shelf.place, shelf.names)
