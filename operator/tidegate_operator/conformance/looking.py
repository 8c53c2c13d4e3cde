"""Looks at group, pods, operator and agent several times a second, and keeps it in the record.

Rules: it changes nothing. Times are the agent's: how far its clock is from this machine's is
measured at each look, by the quickest one so far. An API server that does not answer is passed
over; an agent that does not answer for long, or that began anew, is a trouble of the run.
"""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Any

from tidegate_operator.conformance import manifests as made
from tidegate_operator.conformance.agent_place import PORT
from tidegate_operator.conformance.hands import Hands
from tidegate_operator.conformance.options import Engine, Options
from tidegate_operator.conformance.record import Led, OperatorAct, PodSeen, Record, take
from tidegate_operator.conformance.states import facts_of, has_joined, is_settled, told_of
from tidegate_operator.engines.inputs import GROUP_LABEL, ROLE_LABEL
from tidegate_operator.facts import NUMBER_LABEL
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, EVENT, LEASE, POD, Document
from tidegate_operator.kube_errors import KubeError

EVERY_S = 0.5
_EVENTS_EVERY = 4
_SILENT_S = 20.0
_ANEW = (
    "the agent began anew in the middle of the run, so that it is not known what was sent: see why "
    "with `kubectl describe pod`, and run it again"
)


class Looking:
    """See the module. `group`, `pods` and `owners` are as they were seen last."""

    def __init__(self, hands: Hands, options: Options, record: Record) -> None:
        self._hands = hands
        self._options = options
        self._record = record
        self._agent = made.part(options, "agent")
        self._after, self._life = 0, ""
        self._offset_s, self._quickest_s = 0.0, float("inf")
        self._seen_pods: dict[str, tuple[int, bool, bool]] = {}
        self._acts: set[tuple[str, int]] = set()
        self._looks = 0
        self._heard_at = time.monotonic()
        self.group: Document = {}
        self.pods: list[Document] = []
        # The pod made by hand, of a mixed group.
        self.joiner: Document | None = None
        self.owners: dict[str, str] = {}
        self.last_trouble = ""

    def now(self) -> float:
        """By the agent's clock."""
        return time.time() + self._offset_s

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            begun = time.monotonic()
            await self.look()
            await asyncio.sleep(max(EVERY_S - (time.monotonic() - begun), 0.1))

    async def look(self) -> None:
        try:
            await self.look_at_agent()
            await self._look_at_group()
            if self._looks % _EVENTS_EVERY == 0:
                await self._look_at_events()
            await self._look_at_leader()
            self._looks += 1
        except KubeError as problem:
            self.last_trouble = str(problem)

    async def look_at_agent(self) -> dict[str, Any]:
        """Takes in what the agent has seen since. Raises KubeError."""
        sent = time.time()
        try:
            said = await self._hands.ask(self._agent, PORT, "GET", f"/look?after={self._after}")
        except KubeError as problem:
            if time.monotonic() - self._heard_at > _SILENT_S:
                self._heard_at = float("inf")
                self._record.troubles.append(f"the agent does not answer: {problem}")
            raise
        took = time.time() - sent
        self._heard_at = max(self._heard_at, time.monotonic())
        if took < self._quickest_s:
            self._quickest_s, self._offset_s = took, said["now"] - (sent + took / 2)
        if self._is_another(said["life"], said["next"]):
            return said  # what it sees again was seen before
        take(self._record, said["rows"])
        for kind, *fields in said["rows"]:
            if kind == "owned":
                _, partition, owner, _ = fields
                self.owners[partition] = owner
        self._after = said["next"]
        return said

    def _is_another(self, life: str, following: int) -> bool:
        """Whether the agent began anew, and has lost what it had counted and seen."""
        self._life = self._life or life
        is_another = life != self._life or following < self._after
        if is_another and _ANEW not in self._record.troubles:
            self._record.troubles.append(_ANEW)
        return is_another

    async def _look_at_group(self) -> None:
        options = self._options
        found = await self._hands.kube.find(CONSUMER_GROUP, options.namespace, options.name)
        if found is None:
            return
        replicas: int | None
        if options.engine is Engine.PYTHON:
            workload = await self._hands.kube.find(DEPLOYMENT, options.namespace, options.name)
            replicas = None if workload is None else int(workload["spec"].get("replicas", 0))
        else:
            replicas = (found.get("status") or {}).get("wanted")
        labels = f"{GROUP_LABEL}={options.name}"
        self.pods = await self._hands.kube.list(POD, options.namespace, labels=labels)
        if options.engine is Engine.MIXED:
            name = made.part(options, "joiner")
            self.joiner = await self._hands.kube.find(POD, options.namespace, name)
        self.group = found
        self._record.told.append(told_of(found, replicas, self.now()))
        self._note_pods()

    def _note_pods(self) -> None:
        at, there = self.now(), set()
        for pod in self.pods:
            name = pod["metadata"]["name"]
            there.add(name)
            facts = facts_of(pod)
            before = self._seen_pods.get(name)
            if before is None:
                self._record.pods.append(PodSeen(at, name, "came"))
            restarts, is_ready, is_leaving = before or (0, False, False)
            for is_new, what in (
                (facts[0] > restarts, "restarted"), (facts[1] and not is_ready, "ready"),
                (facts[2] and not is_leaving, "leaving"),
            ):  # fmt: skip
                if is_new:
                    self._record.pods.append(PodSeen(at, name, what))
            self._seen_pods[name] = facts
        for name in self._seen_pods.keys() - there:
            self._record.pods.append(PodSeen(at, name, "gone"))
            del self._seen_pods[name]

    async def _look_at_events(self) -> None:
        fields = f"involvedObject.name={self._options.name}"
        for event in await self._hands.kube.list(EVENT, self._options.namespace, fields=fields):
            key = event["metadata"]["name"], int(event.get("count") or 1)
            instance = event.get("reportingInstance")
            if instance and key not in self._acts:
                self._acts.add(key)
                at = datetime.fromisoformat(event["lastTimestamp"]).timestamp()
                self._record.acts.append(OperatorAct(at, instance, event["reason"]))

    async def _look_at_leader(self) -> None:
        operator = self._options.operator
        if operator is None:
            return
        lease = await self._hands.kube.find(LEASE, operator.namespace, operator.name)
        holder = str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")
        if not self._record.led or self._record.led[-1].holder != holder:
            self._record.led.append(Led(self.now(), holder))

    # --- how it is

    def executors(self) -> list[str]:
        return self._of_role("executor")

    def drivers(self) -> list[str]:
        return self._of_role("driver")

    def member_of(self, executor: str) -> str:
        """What the member is called that this pod is."""
        (pod,) = (each for each in self.pods if each["metadata"]["name"] == executor)
        number = pod["metadata"]["labels"].get(NUMBER_LABEL, "")
        return next((f"{driver}-x{number}" for driver in self.drivers()), executor)

    def _of_role(self, role: str) -> list[str]:
        return sorted(
            pod["metadata"]["name"]
            for pod in self.pods
            if pod["metadata"].get("labels", {}).get(ROLE_LABEL) == role
            and "deletionTimestamp" not in pod["metadata"]
        )

    def partitions(self) -> set[str]:
        """Those that there are, as the status says; none while it says nothing."""
        status = self.group.get("status") or {}
        return {each["partition"] for each in status.get("partitionStates") or ()}

    def members(self) -> dict[str, list[str]]:
        """Of each owner, its partitions, as the ledger has them; not those that have ended, which
        keep the name of their last owner."""
        found: dict[str, list[str]] = {}
        there = self.partitions()
        for partition, owner in self.owners.items():
            if owner and (partition in there or not there):
                found.setdefault(owner, []).append(partition)
        return found

    def is_settled(self, replicas: int) -> bool:
        """Whether as many as shall be share all, and nothing moves."""
        if self._options.engine is Engine.MIXED and not has_joined(self.group, self.joiner):
            return False
        return is_settled(self.group, self.pods, replicas, self._options.engine)

    def why_not_settled(self) -> str:
        """For people, when it takes too long."""
        status = self.group.get("status") or {}
        said = [
            f"{each['type']}={each['status']} {each.get('reason')}: {each.get('message')}"
            for each in status.get("conditions", ())
            if each["type"] in ("Ready", "Balanced", "Scaling")
        ]
        trouble = f"; {self.last_trouble}" if self.last_trouble else ""
        if not said:
            return (
                "no operator has written a status: is one installed, and does it look after "
                f"namespace {self._options.namespace}?{trouble}"
            )
        return "; ".join(said) + trouble
