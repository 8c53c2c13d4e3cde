"""One run: makes what it needs, disturbs the group by the plan, and gives the record of it.

Rules: what was made is removed at the end, however it ends. Each step begins with a settled group,
and after it the group is let be for a while. A step that cannot be done is in the record with why.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import replace

from tidegate.settings import SettingsError
from tidegate_operator.conformance import group_manifest, manifests
from tidegate_operator.conformance.acts import Acts
from tidegate_operator.conformance.agent_place import PORT
from tidegate_operator.conformance.hands import Hands
from tidegate_operator.conformance.hits import Hit, Refused
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.options import Engine, Options, Source
from tidegate_operator.conformance.plan import CALM_S, Step, is_begun, planned
from tidegate_operator.conformance.record import Disturbed, Record, Setting
from tidegate_operator.conformance.states import facts_of, waiting
from tidegate_operator.kinds import CONSUMER_GROUP, POD, Document
from tidegate_operator.kube_errors import KubeError, NotThere

_READY_S, _LOOK_S = 90.0, 0.2
_SPARK_READY_S = 180.0
_SEEN_S = 60.0
# After the last event was sent, until all must be handled.
_DRAIN_S = 60.0
# A change is first to be seen, and then to be over.
_NOTICE_S = 3.0

# What no waiting mends, but for a moment after a Secret was made.
_HOPELESS_S = 10.0
_HOPELESS = ("CreateContainerConfigError", "InvalidImageName", "ErrImageNeverPull")

Say = Callable[[str], None]


class RunError(Exception):
    """The run cannot go on; the message says why and what to do."""


def setting_of(options: Options) -> Setting:
    is_cosmos = options.source is Source.COSMOS
    rate = 1 / manifests.EVERY_S
    return Setting(
        options.name, options.namespace, options.seed, str(options.engine), str(options.source),
        options.seconds, options.replicas,
        manifests.RANGES if is_cosmos else options.partitions, rate,
        checkpoint_s=manifests.CHECKPOINT_S, batch=manifests.BATCH,
        settle_s=90.0 if options.engine is Engine.PYTHON else 180.0,
        operator=str(options.operator or ""), group_file=options.group_file,
        only=",".join(options.only),
    )  # fmt: skip


class Run:
    """See the module. `record` is what was seen, also of a run that was broken off."""

    def __init__(self, hands: Hands, options: Options, say: Say) -> None:
        self._hands = hands
        self._options = options
        self._say = say
        self.record = Record(setting_of(options))
        self._looking = Looking(hands, options, self.record)
        self._acts = Acts(hands, self._looking, options, self.record)
        self._settle_s = self.record.setting.settle_s

    async def carry_out(self) -> None:
        """Raises RunError, KubeError."""
        await self._check()
        try:
            await self._make()
            looking = asyncio.create_task(self._looking.run())
            try:
                await self._begin()
                await self._disturb()
                await self._end()
                if looking.done():
                    looking.result()
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
        finally:
            await asyncio.shield(self._tidy())

    # --- before and after

    async def _check(self) -> None:
        options = self._options
        try:
            await self._hands.kube.list(CONSUMER_GROUP, options.namespace)
        except NotThere as problem:
            raise RunError(
                "this cluster has no ConsumerGroups: install the chart first (docs/helm.md)"
            ) from problem
        if await self._hands.kube.find(CONSUMER_GROUP, options.namespace, options.name):
            raise RunError(
                f"there is a ConsumerGroup {options.namespace}/{options.name}: choose another "
                "--name, or remove what a run has left with `tidegate conformance --tidy`"
            )

    async def _make(self) -> None:
        options = self._options
        self._say(f"making group {options.namespace}/{options.name} and what it needs")
        await self._hands.make([manifests.handler(options)])
        if options.is_embedded:
            await self._hands.make(manifests.embedded(options))
            await self._until_ready("storage", "proxy", self._source_part())
        await self._hands.make([manifests.agent(options)])
        await self._until_ready("agent")
        await self._until_checked()
        await self._hands.make([group_manifest.group(options)])
        if options.engine is Engine.MIXED:
            await self._hands.make([group_manifest.joiner(options)])

    async def _until_checked(self) -> None:
        """Until the agent has tried a hub and storage of the user's own, which takes a moment."""
        until = time.monotonic() + _READY_S
        while (found := (await self._looking.look_at_agent())["check"]) is None:
            if time.monotonic() > until:
                raise RunError(
                    f"neither hub nor storage has answered the agent for {_READY_S:.0f} s: does "
                    "the cluster's network let pods out to them?"
                )
            await asyncio.sleep(_LOOK_S)
        if found:
            raise RunError(str(found))

    def _source_part(self) -> str:
        return "cosmos" if self._options.source is Source.COSMOS else "hub"

    async def _until_ready(self, *parts: str) -> None:
        for part in parts:
            name, begun = manifests.part(self._options, part), time.monotonic()
            while True:
                pod = await self._hands.kube.get(POD, self._options.namespace, name)
                if facts_of(pod)[1]:
                    break
                waits, took_s = waiting(pod), time.monotonic() - begun
                is_hopeless = any(waits.startswith(each) for each in _HOPELESS)
                if took_s > (_HOPELESS_S if is_hopeless else _READY_S):
                    raise RunError(
                        f"pod {self._options.namespace}/{name} is not ready after {took_s:.0f} s: "
                        f"{waits or 'it does not answer'}. See "
                        f"`kubectl -n {self._options.namespace} describe pod {name}`"
                    )
                await asyncio.sleep(_LOOK_S)

    async def _begin(self) -> None:
        limit_s = _READY_S if self._options.engine is Engine.PYTHON else _SPARK_READY_S
        is_settled = await self.until_settled(limit_s, 0.0) is not None
        if not self._options.is_embedded:
            self.take_partitions(len(self._looking.partitions()))
        if not is_settled:
            raise RunError(
                f"the group is not ready after {limit_s:.0f} s: {self._looking.why_not_settled()}"
            )
        await self._until_seen()
        await self._ask("/send")
        self.record.began = self._looking.now()
        self._say(f"the group is settled, and events are sent; seed {self._options.seed}")
        await asyncio.sleep(CALM_S)

    async def _until_seen(self) -> None:
        """Until the agent has found the owners that the status names in the ledger as well."""
        until = time.monotonic() + _SEEN_S
        while self._looking.owners.keys() < self._looking.partitions():
            if time.monotonic() > until:
                raise RunError(
                    f"the agent sees no owners in the ledger after {_SEEN_S:.0f} s: see "
                    f"`kubectl -n {self._options.namespace} logs "
                    f"{manifests.part(self._options, 'agent')}`, and whether its connection string "
                    "is of the account that the group's ledger is in"
                )
            await asyncio.sleep(_LOOK_S)

    def take_partitions(self, count: int) -> None:
        """As many as a hub or container of the user's own has; 0 while nobody knows."""
        if 0 < count < self._options.replicas:
            raise RunError(
                f"there are {count} partitions for {self._options.replicas} consumers: write "
                f"--replicas {count}, if that is 2 or more, or name a hub that has more partitions"
            )
        if count:
            self.record.setting = replace(self.record.setting, partitions=count)

    async def _end(self) -> None:
        said = await self._ask("/stop")
        sent = {stream: (int(pair[0]), int(pair[1])) for stream, pair in said["sent"].items()}
        self.record.sent, self.record.stopped = sent, self._looking.now()
        self._say(f"{sum(count for _, count in sent.values())} events sent; waiting for the last")
        until = time.monotonic() + _DRAIN_S
        while time.monotonic() < until and not self._is_drained():
            await asyncio.sleep(_LOOK_S)
        # What a checkpoint covers was written down before it.
        await asyncio.sleep(2 * manifests.CHECKPOINT_S)
        self.record.ended = self._looking.now()

    def _is_drained(self) -> bool:
        last: dict[str, int] = {}
        for given in self.record.handled:
            last[given.stream] = max(given.last, last.get(given.stream, -1))
        return all(
            last.get(stream, -1) >= first + count - 1
            for stream, (first, count) in self.record.sent.items()
        )

    async def _ask(self, path: str) -> Document:
        return await self._hands.ask(manifests.part(self._options, "agent"), PORT, "POST", path)

    async def _tidy(self) -> None:
        self._say("removing what was made")
        if not self._options.is_embedded:
            with contextlib.suppress(KubeError):
                await self._ask("/tidy")
        await self._hands.tidy()

    # --- the plan

    async def _disturb(self) -> None:
        dice = random.Random(self._options.seed).random
        # More than there is time for by the estimates: steps may take less.
        options = self._options
        steps = planned(dice, 2 * options.seconds, options.abilities(), options.only)
        until = time.monotonic() + options.seconds
        done: list[str] = []
        for step in steps:
            if self.record.troubles:
                self._say(f"no more is done: {self.record.troubles[0]}")
                break
            if is_begun(step.kind, done[-1] if done else "", until - time.monotonic()):
                done.append(step.kind)
                await self._step(step, len(done))
        rest_s = until - time.monotonic()
        if rest_s > 0:
            await asyncio.sleep(min(rest_s, CALM_S))

    async def _step(self, step: Step, number: int) -> None:
        began, before = self._looking.now(), tuple(sorted(self._looking.members()))
        hit, refused = Hit(), ""
        try:
            hit = await self._acts.do(step.kind, step.dice)
        except Refused as problem:
            refused = str(problem)
        except (KubeError, TimeoutError) as problem:
            refused = str(problem) or f"{step.kind} took too long"
        ended = self._looking.now()
        settled = await self.until_settled(self._settle_s, _NOTICE_S)
        if hit.overdue:
            settled = None  # it was late, whatever became of it
        after = tuple(sorted(self._looking.members()))
        self.record.disturbed.append(
            Disturbed(
                step.kind, hit.at or began, ended, settled, hit.target, hit.partitions, before,
                after, refused, hit.overdue,
            )
        )  # fmt: skip
        took = hit.overdue or "not settled"
        if settled is not None:
            took = f"settled after {settled - ended:.1f} s"
        self._say(
            f"{number}. {step.kind} {hit.target}: {f'not done: {refused}' if refused else took}"
        )
        if settled is None:
            self._say(f"  {self._looking.why_not_settled()}")
        await asyncio.sleep(CALM_S)

    async def until_settled(self, limit_s: float, notice_s: float) -> float | None:
        """Since when it is at rest, where that came in time. What was done may take a moment to
        show, so that it has to last, and in the ledger as well."""
        until = time.monotonic() + limit_s + notice_s
        since, owners = None, dict[str, str]()
        while time.monotonic() < until:
            now, there = self._looking.now(), dict(self._looking.owners)
            if not self._looking.is_settled(self._acts.replicas):
                since = None
            elif since is None or there != owners:
                since, owners = now, there
            if since is not None and now - since >= notice_s:
                return since
            await asyncio.sleep(_LOOK_S)
        return None


def checked(options: Options) -> Options:
    """Raises SettingsError."""
    if options.seconds < 30:
        raise SettingsError("--minutes: write 0.5 or more: a disturbance takes some seconds")
    return options.checked()
