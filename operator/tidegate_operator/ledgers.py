"""The ledgers of the groups, over as few connections as there are accounts.

Rules:
- A listing is asked for in the background: who wants it waits a little, and then takes the newest
  that there is. Storage that hangs holds up nobody but its own group, and not even that one's
  other affairs.
- If a request has no good answer within `SILENT_S`, earlier listings no longer count. The group is
  woken at that time, before the time limit of the request.
- A listing that failed is asked for again after a pause that doubles, never shorter than storage
  asks for; a change of credentials is tried at once. Storage that does not answer is asked again
  each second, in the background. Its first answer to one group makes all groups of the account ask,
  and each answer wakes its group.
- While an account leaves a request without an answer no round waits for another one to it, so that
  a thousand groups of one account learn of it as soon as one does.
- The time of a listing is that before it was sent.
- A ledger is of one group: see claims.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
from tidegate_operator.model import (
    SILENT_S,
    Failure,
    GroupKey,
    LedgerTrouble,
    LedgerView,
    is_silent,
)
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
# Without an answer the pause is short, because recovery must be noticed at once. One group asks
# each second. Many groups of one account share a rate.
_SILENT_PAUSE_S, _SILENT_RATE = 1.0, 50.0

# The alarm rings when it is too long by any clock.
_LATER_S = 0.05
# It is not known whether a request with such an end was answered at all.
_NO_ANSWER = frozenset((Refusal.UNKNOWN, Refusal.BUSY))
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
    # The start of the current request, and whether a look timed out meanwhile.
    began_at: float = float("-inf")
    is_missed: bool = False
    # The send time of the first request without an answer.
    unanswered_since: float | None = None
    # The first wakes the group when that is too long; the second asks again after a failure.
    alarm: asyncio.TimerHandle | None = None
    again: asyncio.TimerHandle | None = None

    @property
    def host(self) -> str:
        """The account, as far as its connections go."""
        return self.place.host if isinstance(self.place, BlobSettings) else self.place.settings.host


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
        # By account: groups with a look that timed out, and groups that wait for a retry.
        self._late: dict[str, set[GroupKey]] = {}
        self._silent: dict[str, set[GroupKey]] = {}
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
        for timer in (shelf.alarm, shelf.again):
            if timer is not None:
                timer.cancel()
        for groups in (self._late, self._silent):
            groups.get(shelf.host, set()).discard(key)
        if isinstance(shelf.place, LeasePlace):
            # Its connections are its own.
            closing = asyncio.create_task(shelf.ledger.close(), name=f"closing of {key}")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def tidy(self) -> None:
        """Lets go of what was opened for groups that have gone."""
        self._late = {host: keys for host, keys in self._late.items() if keys}
        self._silent = {host: keys for host, keys in self._silent.items() if keys}
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
            self._begin(key, shelf, is_quick=is_quick)
        asking = shelf.asking
        if asking is not None:
            await asyncio.wait([asking], timeout=self._patience_s(shelf))
            if not asking.done():
                shelf.is_missed = True
                self._late_of(shelf).add(key)
            elif not asking.cancelled():
                asking.result()
        return self.standing(key)

    def standing(self, key: GroupKey) -> tuple[LedgerView | None, Failure | None]:
        """The newest view without a request, and the reason if there is no newer one."""
        shelf = self._shelves.get(key)
        if shelf is None:
            return None, None
        since, view, failure = shelf.unanswered_since, shelf.view, shelf.failure
        if view is not None and view.unanswered_since != since:
            view = shelf.view = replace(view, unanswered_since=since)
        if failure is None and since is not None and is_silent(since, self._now()):
            failure = Failure(
                LedgerTrouble.UNREACHABLE,
                f"{shelf.host} has not answered a request for the ledger for more than "
                f"{SILENT_S:g} s. Look at the storage account, and at the network.",
                since,
            )
        return view, failure

    async def perform(self, key: GroupKey, operation: Operation) -> Reply:
        """Carries an operation out; the next look lists again. Raises LedgerError."""
        shelf = self._shelves[key]
        try:
            return await self._heeded(key, shelf, operation)
        finally:
            shelf.is_stale = True

    async def read(self, key: GroupKey, operation: Operation) -> Reply:
        """Asks the ledger for something that changes nothing. Raises LedgerError."""
        return await self._heeded(key, self._shelves[key], operation)

    async def _heeded(self, key: GroupKey, shelf: _Shelf, operation: Operation) -> Reply:
        """Perform an operation with the same alarm as a listing. Only a listing ends a silence."""
        began, was = self._now(), shelf.unanswered_since
        self._unanswered(key, shelf, began)
        try:
            reply = await shelf.ledger.perform(operation)
        except LedgerError as problem:
            if problem.refusal not in _NO_ANSWER:
                self._heard(shelf, was)
            raise
        self._heard(shelf, was)
        return reply

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

    # --- asking, and what comes of it

    def _begin(self, key: GroupKey, shelf: _Shelf, *, is_quick: bool) -> None:
        if shelf.again is not None:
            shelf.again.cancel()
        shelf.began_at, shelf.is_missed = self._now(), False
        self._unanswered(key, shelf, shelf.began_at)
        asks = self._ask(key, shelf, is_quick=is_quick)
        shelf.asking = asyncio.create_task(asks, name=f"listing of {key}")

    def _patience_s(self, shelf: _Shelf) -> float:
        """How long a round waits for the request that is under way."""
        if self._late_of(shelf):
            return 0.0
        return min(max(PATIENCE_S - (self._now() - shelf.began_at), 0.0), PATIENCE_S)

    def _late_of(self, shelf: _Shelf) -> set[GroupKey]:
        """The groups of its account with a look that timed out."""
        return self._late.setdefault(shelf.host, set())

    def _unanswered(self, key: GroupKey, shelf: _Shelf, since: float) -> None:
        """Start the alarm for a request without an answer."""
        if shelf.unanswered_since is not None:
            return
        shelf.unanswered_since = since
        loop = asyncio.get_running_loop()
        shelf.alarm = loop.call_later(SILENT_S + _LATER_S, self._changed, key)

    def _heard(self, shelf: _Shelf, was: float | None = None) -> None:
        """Stop the alarm; `was` is the older request that still has no answer, if any."""
        shelf.unanswered_since = was
        if was is None and shelf.alarm is not None:
            shelf.alarm.cancel()
            shelf.alarm = None

    async def _ask(self, key: GroupKey, shelf: _Shelf, *, is_quick: bool) -> None:
        had_failed = shelf.failure is not None
        try:
            async with self.accounts.room(shelf.place):
                shelf.is_stale = False
                view = await self._listing(shelf, is_quick=is_quick)
        except LedgerError as problem:
            self._failed(key, shelf, problem)
        else:
            shelf.view = view
            shelf.failure, shelf.failures = None, 0
            self._heard(shelf)
            if had_failed:
                self._changed(key)
            self._hurry(shelf.host)
        finally:
            shelf.asking = None
            self._late_of(shelf).discard(key)
        if shelf.is_missed:
            # Nobody waits for it any more.
            self._changed(key)

    def _failed(self, key: GroupKey, shelf: _Shelf, problem: LedgerError) -> None:
        since = shelf.failure.since if shelf.failure is not None else shelf.began_at
        shelf.failures += 1
        shelf.failure = failure_of(problem, since)
        has_answered = problem.refusal not in _NO_ANSWER
        longest_s, asked_s = _LONGEST_PAUSE_S, asked_pause_s(problem)
        if not has_answered:
            silent = self._silent.setdefault(shelf.host, set())
            if not asked_s:
                silent.add(key)
            longest_s = max(_SILENT_PAUSE_S, len(silent) / _SILENT_RATE)
        pause = pause_s(shelf.failures, self._settings.first_pause_s, longest_s, self._dice)
        pause = max(pause, asked_s)
        shelf.failed_at = self._now()
        shelf.not_before = shelf.failed_at + pause
        if not has_answered:
            shelf.again = asyncio.get_running_loop().call_later(pause, self._again, key, shelf)

    def _hurry(self, host: str) -> None:
        """Retry at once for all groups of an account that answers again."""
        for key in self._silent.pop(host, ()):
            shelf = self._shelves.get(key)
            if shelf is not None and shelf.failure is not None:
                self._again(key, shelf)

    def _again(self, key: GroupKey, shelf: _Shelf) -> None:
        if self._shelves.get(key) is shelf and shelf.asking is None:
            self._begin(key, shelf, is_quick=False)

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
