"""One member of a group: events in, commands out. Pure; it reads no clock and throws no dice.

What it does at each listing: makes a plan with everybody else's facts (balance.plan), gives what is
planned for others and wanted by them (giving.py), claims what is free and planned for it and wants
what others should give it (taking.py). Each partition's own life is in tenure.py.

Rules: (numbers as in docs/ledger.md)
- 6: it owns and wants nothing until its presence is held.
- One listing a tick; ticks are fast only while something changes.
- A member that stops while the ledger does not answer drains all its partitions at once: it takes
  no more events that it might not be able to checkpoint. One that does not stop continues while its
  leases hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tidegate import balance
from tidegate.balance.listed import stopping
from tidegate.member.announced import Loads
from tidegate.member.ending import Ending
from tidegate.member.flaws import Flaws
from tidegate.member.forgetting import Forgetting
from tidegate.member.giving import give
from tidegate.member.messages import (
    Answered,
    Command,
    Event,
    FiguresMeasured,
    HandlerReturned,
    LoadsMeasured,
    PartitionsKnown,
    Perform,
    Remember,
    RenewalRefused,
    Renewed,
    Report,
    StopAsked,
    Stopped,
    Woken,
)
from tidegate.member.outage import LASTING, Outage
from tidegate.member.presence import Membership
from tidegate.member.steps import NEVER
from tidegate.member.taking import Taking
from tidegate.member.tenure import EMPTIED, Tenure
from tidegate.member.tenures import Tenures
from tidegate.member.view import Mine, Sight, sight_of, snapshot, told
from tidegate.model import Listing, Owner, PartitionId, Recalled
from tidegate.ports import CreateOwnership, List, ReadOwnership
from tidegate.ports.lineage import FLAT, Lineage, Tiling
from tidegate.settings import MemberSettings

# Ticks stay fast this long after the last sign of change, so that what follows it is seen at once.
_CALM_AFTER_S = 3.0
# For a member that stops, a listing without an answer after this time means that storage hangs:
# usually the answer takes a few hundredths of a second.
_DOUBT_S = 1.0
# Reports that say that blobs were written again.
_RESTORED = ("checkpoint-restored", EMPTIED)
# The lease of the member blob, as `Remember` names it.
PRESENCE: PartitionId = ""


class Member:
    """See the module. `dice` gives a fresh GUID at every call."""

    def __init__(
        self,
        settings: MemberSettings,
        incarnation: str,
        dice: Callable[[], str],
        inherited: Sequence[tuple[PartitionId, str]] = (),
        lineage: Lineage = FLAT,
    ) -> None:
        self._settings = settings
        self.owner = Owner(settings.name, incarnation)
        self._inherited = dict(inherited)
        presence_lease = self._inherited.pop(PRESENCE, None) or dice()
        self._membership = Membership(settings, self.owner, presence_lease)
        self._lineage = lineage
        self._tenures = Tenures(settings, self.owner, dice, lineage)
        self._taking = Taking(settings, self.owner, self._tenures, dice)
        self._forgetting = Forgetting(settings)
        self._flaws = Flaws()
        self._outage = Outage(settings)
        self._ending = Ending()
        # What the source said, and when it was asked.
        self._partitions: tuple[PartitionId, ...] = ()
        self._partitions_at = float("-inf")
        self._tiling = Tiling(())
        self._loads = Loads(settings.name)
        self._sight: Sight | None = None
        self._snapshot: balance.Snapshot | None = None
        self._plan: balance.Plan | None = None
        self._is_listing = False
        self._list_at = NEVER
        self._listed_sent_at = 0.0
        self._changed_at = float("-inf")
        self._told: object = None
        # What this member knows beyond the ledger.
        self._recalls: Mapping[PartitionId, Recalled] = {}
        # When it last wrote again what another client had deleted or changed: server time.
        self._restored_at = 0.0
        # When a partition of ours was last found gone from the ledger.
        self._emptied_at = float("-inf")
        self._is_stopping = False
        # When it is asked to stop: until then it waits for others to want what it has.
        self._patient_until = NEVER
        self._is_patient = True
        # Whether the last listing came.
        self._has_listed = False
        self.is_stopped = False
        self._remembered: tuple[tuple[PartitionId, str], ...] = ()

    # --- what the owner of this machine asks

    @property
    def wake_at(self) -> float:
        """When to send Woken at the latest."""
        if self.is_stopped:
            return NEVER
        list_at = NEVER if self._is_listing else self._list_at
        return min(
            self._membership.wake_at,
            list_at,
            self._tenures.wake_at,
            self._taking.wake_at,
            self._in_doubt_at,
        )

    @property
    def _in_doubt_at(self) -> float:
        """When a member that stops no longer waits for the ledger."""
        if not self._is_stopping or not self._is_patient:
            return NEVER
        if self._is_listing:
            return self._listed_sent_at + _DOUBT_S
        return NEVER if self._has_listed else float("-inf")

    @property
    def tenures(self) -> dict[PartitionId, Tenure]:
        return self._tenures.live

    # --- events

    def handle(self, event: Event) -> list[Command]:
        """What follows from an event."""
        if self.is_stopped:
            return []
        commands = self._take_in(event)
        commands = self._told_restored(commands, event.now)
        commands += self._on_time(event.now)
        if self._tenures.settle(event.now):
            self._changed_at = event.now
        if self._is_stopping and not self._tenures.live:
            self.is_stopped = True
            commands += [*self._membership.leave(), Stopped()]
        return commands + self._remember() if commands else commands

    def _take_in(self, event: Event) -> list[Command]:
        match event:
            case Answered(key=key):
                return self._on_answer(event) if key is None else self._tenures.tell(*key, event)
            case Renewed() | RenewalRefused():
                return self._tenures.tell(event.partition, None, event)
            case PartitionsKnown(partitions=partitions):
                if partitions != self._partitions:
                    self._list_at = min(self._list_at, event.now)
                self._partitions, self._partitions_at = partitions, event.asked_at
            case LoadsMeasured(loads=loads):
                self._loads.measured(loads)
            case FiguresMeasured():
                self._membership.measured(event)
            case HandlerReturned():
                self._tenures.on_returned(event.partition, event.serial)
            case StopAsked():
                self._is_stopping = True
                self._changed_at = event.now
                self._patient_until = event.now + self._settings.settled_tick_s
                self._list_at = min(self._list_at, event.now + self._settings.fast_tick_s)
                return self._act(event.now)
            case Woken():
                pass
            case _:
                return self._tenures.tell(event.partition, event.serial, event)
        return []

    def _on_time(self, now: float) -> list[Command]:
        commands: list[Command] = []
        if now >= self._in_doubt_at:
            self._is_patient = False
            commands += self._act(now)
        if now >= self._list_at and not self._is_listing:
            self._is_listing = True
            self._listed_sent_at = now
            commands.append(Perform(None, List()))
        commands += self._membership.on_time(now)
        # What the last life of this member announced is read before it is written over.
        if self._sight is not None:
            commands += self._membership.announce(
                self._loads.announced,
                self._taking.wants.announced(),
                self._tenures.declined(now),
                self._recalls,
                self._restored_at,
                now,
                is_leaving=self._is_stopping,
            )
        return commands + self._taking.on_time(now) + self._tenures.on_time(now)

    # --- answers to the member's own operations

    def _on_answer(self, event: Answered) -> list[Command]:
        match event.operation:
            case List():
                return self._on_listing(event)
            case ReadOwnership() as tried:
                commands = self._taking.on_tried(self._sight, tried, event)
                self._keep_loads()
                return commands
            case CreateOwnership(partition=partition):
                if self._taking.on_created(partition):
                    self._list_at = min(self._list_at, event.now)
            case _:
                return self._membership.on_answer(event)
        return []

    def _on_listing(self, event: Answered) -> list[Command]:
        self._is_listing = False
        self._has_listed = isinstance(event.reply, Listing)
        if not isinstance(event.reply, Listing):
            self._taking.stall.on_failure()
            self._list_at = event.now + self._settings.fast_tick_s
            if event.refusal in LASTING:
                self._list_at = event.now + self._settings.settled_tick_s
            return [*self._outage.on_failure(event.refusal, event.message, event.now)]
        self._is_patient = self._is_patient and event.now < self._patient_until
        listing = event.reply
        self._sight = sight = sight_of(listing, self._sight, self._settings)
        self._taking.stall.on_listing(listing, event.sent_at, event.now)
        self._tiling = self._lineage.tiling(self._partitions, listing)
        self._tenures.see(listing, self._tiling)
        self._membership.see(listing.members.get(self.owner.name), event.sent_at)
        self._taking.gathering.see(sight.alive, event.now)
        commands = [*self._outage.on_success(event.now), *self._flaws.on_listing(listing)]
        memory, live = self._tenures.memory, self._tenures.live
        memory.see(listing, live, event.sent_at, event.now)
        commands += self._tenures.look_for_blobs(listing, event.sent_at, event.now)
        self._recalls = memory.recalled(self._tiling.partitions, live, event.now)
        commands += self._act(event.now)
        commands += self._forgetting.on_listing(listing, event.now)
        self._keep_loads()
        self._loads.see(listing, self._tenures.live)
        is_fast = self._is_changing(sight, event.now)
        tick = self._settings.fast_tick_s if is_fast else self._settings.settled_tick_s
        self._list_at = self._listed_sent_at + tick
        if event.now < self._patient_until:
            self._list_at = min(self._list_at, self._patient_until)
        return commands

    def _is_changing(self, sight: Sight, now: float) -> bool:
        """Whether a fast look is worth its price."""
        before, self._told = self._told, told(sight)
        if self._told != before or self._tenures.is_busy or self._taking.wants.announced():
            self._changed_at = now
        return now - self._changed_at < _CALM_AFTER_S or self._is_stopping

    # --- acting on the plan

    def _act(self, now: float) -> list[Command]:
        sight = self._sight
        if sight is None or not self._partitions:
            return []
        listing, taking, name = sight.listing, self._taking, self.owner.name
        if self._membership.is_present and taking.joined_at is None:
            taking.joined_at = now
        commands = taking.inherit(listing, self._inherited)
        self._inherited = {}
        plan = self._planned(sight, now)
        commands += self._ending.end(
            self._tenures, self._tiling, sight.roster.rewinds, self._partitions_at, now
        )
        commands += give(
            self._tenures,
            listing,
            plan.assignment,
            sight.roster.rewinds,
            sight.alive - {name},
            name,
            now,
            is_stopping=self._is_stopping,
            is_patient=self._is_patient,
        )
        if self._membership.is_present and not self._is_stopping:
            mine = {partition for partition, to in plan.assignment.items() if to == name}
            planned = mine - self._tenures.live.keys()
            commands += taking.take(sight, planned, now, stopping(listing))
        else:
            taking.wants.update((), listing.ownerships, now)
        return commands + taking.try_wants(now)

    def _planned(self, sight: Sight, now: float) -> balance.Plan:
        """The plan; the same one where nothing has changed."""
        tenures = self._tenures
        mine = Mine(
            self._is_stopping,
            tenures.owned(),
            tenures.given,
            self._loads.announced,
            tenures.declined(now),
            self._recalls,
        )
        # What begins where others ended is not new: nobody is waited for.
        known = replace(sight, once_owned=sight.once_owned | tenures.origins.keys())
        facts = snapshot(known, self._tiling.partitions, mine, self._settings)
        if self._plan is None or facts != self._snapshot:
            self._snapshot, self._plan = facts, balance.plan(facts)
        return self._plan

    def _told_restored(self, commands: list[Command], now: float) -> list[Command]:
        """Note restored checkpoints; report an emptied ledger once."""
        found = {each.kind for each in commands if isinstance(each, Report)}
        if found.isdisjoint(_RESTORED):
            return commands
        if self._sight is not None:
            self._restored_at = self._sight.listing.server_time
        reported: list[Command] = []
        for command in commands:
            if isinstance(command, Report) and command.kind == EMPTIED:
                was_told = now - self._emptied_at < self._settings.lease_s
                self._emptied_at = now
                self._tenures.memory.note_emptied(now)
                if was_told:
                    continue
            reported.append(command)
        return reported

    def _keep_loads(self) -> None:
        if self._snapshot is not None:
            self._loads.begin(self._tenures.live, self._snapshot)

    def _remember(self) -> list[Command]:
        """What a restart of this process should find, told whenever it changes."""
        leases = self._tenures.leases()
        if self._membership.is_present:
            leases = {**leases, PRESENCE: self._membership.lease_id}
        held = tuple(leases.items())
        if held == self._remembered:
            return []
        self._remembered = held
        return [Remember(held)]
