"""Each kind of disturbance, as it is done to the group; what it was done to is what comes back.

Rules: an act ends when what it does is over; whether the group is well again is for `running` to
see. What cannot be done is Refused with the reason; what was done and has no effect in time is
overdue. Whatever an act changes but the group's pods it puts back itself, also when broken off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from tidegate_operator.conformance import manifests as made
from tidegate_operator.conformance.agent_place import PORT
from tidegate_operator.conformance.hands import KILL, PAUSE, Hands
from tidegate_operator.conformance.hits import Hit, Refused, within
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.operators import Operators
from tidegate_operator.conformance.options import Engine, Options
from tidegate_operator.conformance.record import Record, Told
from tidegate_operator.conformance.shutting import Shutting
from tidegate_operator.conformance.states import is_whole
from tidegate_operator.kinds import CONSUMER_GROUP

ERRORS_S, CUT_S, HUB_CUT_S, AWAY_S = 8.0, 8.0, 10.0, 20.0
# What a listing said of the lag counts for a minute; then nobody knows it.
UNKNOWN_S = 80.0
# Until fewer have been enough for as long as it takes, with the lag known all that time.
SMALLER_S = 90.0
_LOOK_S = 0.25
# That a pod was deleted shows at the next look.
_SEEN_S = 20.0


class Acts:
    """See the module. `replicas` is the size that the group is to have now."""

    def __init__(self, hands: Hands, looking: Looking, options: Options, record: Record) -> None:
        self._hands = hands
        self._looking = looking
        self._options = options
        self._record = record
        self._operators = Operators(hands, options, looking)
        self._shutting = Shutting(hands, looking, options)
        self._rolled = 0
        # Of the act that goes on: what was hit, once it was.
        self._made: Hit | None = None
        self.replicas = options.replicas

    async def do(self, kind: str, dice: float) -> Hit:
        """Raises Refused, KubeError; TimeoutError where it took too long until it was done."""
        acts: dict[str, Callable[[float], Awaitable[Hit]]] = {
            "kill": self._kill,
            "delete": self._delete,
            "force": self._force,
            "pause": self._pause,
            "scale-in": self._scale_in,
            "scale-out": self._scale_out,
            "rollout": self._rollout,
            "break-lease": self._break_lease,
            "storage-errors": self._storage_errors,
            "storage-cut": self._storage_cut,
            "storage-away": self._storage_away,
            "hub-cut": self._hub_cut,
            "shut": self._shut,
            "operator-away": self._operator_away,
            "operators": self._two_operators,
            "split": lambda _: self._changed_ranges("/split"),
            "merge": lambda _: self._changed_ranges("/merge"),
            "executor": self._executor,
            "driver": self._driver,
        }
        self._made = None
        try:
            return await acts[kind](dice)
        except TimeoutError as late:
            return self._overdue(late)

    def _overdue(self, late: TimeoutError) -> Hit:
        if self._made is None:
            raise late
        return replace(self._made, overdue=str(late))

    # --- consumers

    def _victim(self, dice: float) -> Hit:
        """A member that owns something and whose process can be reached."""
        members = self._looking.members()
        names = sorted(name for name in members if self._is_pod(name))
        if not names:
            raise Refused("no consumer owns anything just now")
        name = names[int(dice * len(names))]
        return Hit(name, tuple(sorted(members[name])))

    def _is_pod(self, name: str) -> bool:
        if self._options.engine is Engine.MIXED:
            return name == made.part(self._options, "joiner")
        return any(pod["metadata"]["name"] == name for pod in self._looking.pods)

    @property
    def _container(self) -> str:
        return "main" if self._options.engine is Engine.MIXED else "consumer"

    async def _kill(self, dice: float) -> Hit:
        hit = self._victim(dice)
        await self._hands.run(hit.target, self._container, KILL)
        return hit

    async def _pause(self, dice: float) -> Hit:
        hit = self._victim(dice)
        seconds = 1.4 * self._record.setting.lease_s
        await self._hands.run(hit.target, self._container, PAUSE.format(seconds=seconds))
        await asyncio.sleep(seconds)
        return hit

    async def _delete(self, dice: float) -> Hit:
        hit = self._victim(dice)
        await self._hands.delete_pod(self._options.namespace, hit.target)
        return hit

    async def _force(self, dice: float) -> Hit:
        hit = self._victim(dice)
        await self._hands.delete_pod(self._options.namespace, hit.target, is_forced=True)
        return hit

    async def _executor(self, dice: float) -> Hit:
        names = self._looking.executors()
        if not names:
            raise Refused("there is no executor just now")
        name = names[int(dice * len(names))]
        member = self._looking.member_of(name)
        its = self._looking.members().get(member, [])
        await self._hands.delete_pod(self._options.namespace, name)
        return Hit(name, tuple(sorted(its)))

    async def _driver(self, _dice: float) -> Hit:
        names = self._looking.drivers()
        if not names:
            raise Refused("there is no driver just now")
        joiner = made.part(self._options, "joiner")
        members = self._looking.members()
        its = [part for name, parts in members.items() if name != joiner for part in parts]
        await self._hands.delete_pod(self._options.namespace, names[0], is_forced=True)
        return Hit(names[0], tuple(sorted(its)))

    # --- size

    async def _patch(self, **spec: object) -> None:
        options = self._options
        change = {"spec": spec}
        await self._hands.kube.patch(CONSUMER_GROUP, options.namespace, options.name, change)

    async def _scale_in(self, _dice: float) -> Hit:
        before = self._looking.members()
        if self.replicas < 2:
            raise Refused("there is one consumer alone")
        await self._patch(replicas=self.replicas - 1)
        self.replicas -= 1
        self._made = Hit()
        # Who goes is the operator's choice: known when it has gone.
        async with within(self._record.setting.settle_s, "no consumer had left"):
            await self._until(lambda: len(self._looking.members()) < len(before))
        gone = sorted(before.keys() - self._looking.members().keys())
        return Hit(", ".join(gone), tuple(sorted(part for name in gone for part in before[name])))

    async def _scale_out(self, _dice: float) -> Hit:
        if self.replicas > self._options.replicas:
            raise Refused(f"there are {self.replicas} consumers: more are not allowed")
        await self._patch(replicas=self.replicas + 1)
        self.replicas += 1
        return Hit()

    async def _rollout(self, _dice: float) -> Hit:
        self._rolled += 1
        spec = self._looking.group["spec"]
        note = {"annotations": {"conformance": str(self._rolled)}}
        await self._patch(template={**spec.get("template", {}), "metadata": note})
        return Hit()

    # --- the ledger and the network

    async def _break_lease(self, dice: float) -> Hit:
        parts = sorted(part for parts in self._looking.members().values() for part in parts)
        if not parts:
            raise Refused("no partition has an owner just now")
        part = parts[int(dice * len(parts))]
        agent = made.part(self._options, "agent")
        said = await self._hands.ask(agent, PORT, "POST", "/break", {"partition": part})
        if not said["broken"]:
            raise Refused(f"there was no lease on partition {part} to break")
        return Hit(f"partition {part}", (part,))

    async def _proxy(self, verb: str, path: str, body: object = None) -> None:
        pod = made.part(self._options, "proxy")
        await self._hands.ask(pod, made.CONTROL_PORT, verb, path, body)

    @contextlib.asynccontextmanager
    async def _faulty(self, name: str, *faults: dict[str, object]) -> AsyncIterator[None]:
        try:
            for fault in faults:
                await self._proxy("POST", f"/{name}/faults", fault)
            yield
        finally:
            await self._proxy("DELETE", f"/{name}/faults")

    async def _storage_errors(self, _dice: float) -> Hit:
        faults: list[dict[str, object]] = [
            {"kind": "delay", "seconds": 0.1},
            {"kind": "answer", "status": 503, "method": "PUT", "times": 5},
            {"kind": "answer", "status": 429, "times": 3},
            {"kind": "lose-reply", "method": "PUT", "times": 5},
        ]
        async with self._faulty("storage", *faults):
            await asyncio.sleep(ERRORS_S)
        return Hit("storage")

    async def _storage_cut(self, _dice: float) -> Hit:
        async with self._faulty("storage", {"kind": "refuse"}):
            await self._proxy("POST", "/storage/cut")
            await asyncio.sleep(CUT_S)
        return Hit("storage")

    async def _hub_cut(self, _dice: float) -> Hit:
        async with self._faulty("hub", {"kind": "refuse"}):
            await self._proxy("POST", "/hub/cut")
            await asyncio.sleep(HUB_CUT_S)
        return Hit("hub")

    async def _storage_away(self, _dice: float) -> Hit:
        """The operator would want one consumer, if it knew the lag, and may choose while it does
        not. Then it gets to know it again, which shows what it would have chosen."""
        try:
            async with self._faulty("storage", {"kind": "refuse"}):
                await self._proxy("POST", "/storage/cut")
                async with within(UNKNOWN_S, "the lag was still known"):
                    await self._until(lambda: not self._told.is_lag_known)
                await self._patch(replicas=None)
                await asyncio.sleep(CUT_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SMALLER_S):
                    await self._until(lambda: (self._told.replicas or 0) < self.replicas)
        finally:
            await self._patch(replicas=self.replicas)
        return Hit("storage")

    @property
    def _told(self) -> Told:
        return self._record.told[-1]

    async def _shut(self, dice: float) -> Hit:
        found = await self._shutting.tried(dice)
        if found is None:
            raise Refused("no consumer is ready just now")
        self._record.reached.append(found)
        return Hit(found.pod)

    async def _changed_ranges(self, path: str) -> Hit:
        before = self._looking.partitions()
        await self._hands.ask(made.part(self._options, "agent"), PORT, "POST", path)
        self._made = Hit("ranges")

        # While ranges end one after another, there is a gap where the new one is to be.
        def is_done() -> bool:
            there = self._looking.partitions()
            return there != before and is_whole(there)

        async with within(self._record.setting.settle_s, "the status had not the new ranges"):
            await self._until(is_done)
        return self._made

    # --- operators

    async def _operator_away(self, dice: float) -> Hit:
        async with self._operators.away():
            begun = self._looking.now()
            hit = self._victim(dice)
            await self._hands.run(hit.target, self._container, KILL)
            self._made = replace(hit, at=begun)
            await asyncio.sleep(AWAY_S)
        return self._made

    async def _two_operators(self, _dice: float) -> Hit:
        async with self._operators.doubled() as leader:
            self._made = Hit(leader)
            await self._operators.change_leader(leader)
            # Something for the new one to tell of.
            if self._options.engine is Engine.PYTHON:
                hit = await self._delete(0.0)
                self._made = Hit(f"{leader}, {hit.target}", hit.partitions)
                async with within(_SEEN_S, f"pod {hit.target} was not seen to leave"):
                    await self._until(lambda: not self._looking.is_settled(self.replicas))
                async with within(self._record.setting.settle_s, "the group was not settled"):
                    await self._until(lambda: self._looking.is_settled(self.replicas))
        return self._made

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await asyncio.sleep(_LOOK_S)
