"""A program: the console over groups whose operator decides for real, in a little world.

    python tests/page/shown_groups.py --speed 4 [--tokens] [--port P]

Each line on its standard input is an act: `burst`, `calm`, `kill`, `state NAME WORD`,
`status NAME JSON` (null for what is not known), `delete NAME`, `end`. It says where it serves. With
--tokens Kubernetes is asked who may see what: `all` sees every namespace, `homes` only that one,
everybody else is nobody.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate.ops.serving import Address
from tidegate_operator.kinds import TOKEN_REVIEW, Document, Kind
from tidegate_operator.model import GroupKey, Steps
from tidegate_operator.page.admission import Admission, ByKubernetes, Loopback, ShownCommands
from tidegate_operator.page.serving import serve_console
from tidegate_operator.scaling import Policy
from tidegate_operator.status import status_of
from unit.operator.plugin_groups import condition, group, member, state
from unit.operator.sized_world import SizedWorld
from unit.operator.small_world import STEP_S

CALM, BURST = 12.0, 60.0
# What somebody could write into a ConsumerGroup, or make a consumer say, to get into the page.
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"


class LivingGroup(SizedWorld):
    """A group with events, members that hand over, and the real operator's decisions."""

    def __init__(self) -> None:
        super().__init__(
            lambda place, _: self.load * (1.6 if place == 3 else 0.8),
            Policy(within_s=60.0, max=6),
            partitions=12,
            pods=2,
            start_s=2.0,
        )
        self.load = CALM
        self.now = self._begun = time.time()
        self._found = Steps()
        self.document = group(status={})
        self.document["metadata"] |= {"namespace": "homes", "name": "activity"}

    def _carry_out(self, found: Steps, version: str) -> None:
        super()._carry_out(found, version)
        self._found = found

    def step(self) -> None:
        super().step()
        (operator,) = self.operators
        if operator.seen is not None and operator.lag is not None:
            before = self.document["status"]
            status = status_of(operator.seen, self._found, operator.lag, before or None)
            self.document = {**self.document, "status": status}

    def kill_one(self) -> None:
        alive = sorted(name for name in self.members if self.is_alive(name))
        if alive:
            self.vanish(alive[0])


class ShownGroups:
    """The ConsumerGroups as they are now."""

    def __init__(self, living: LivingGroup) -> None:
        self.living = living
        self.is_led = True
        self.others = {name: _other(namespace, name, status) for namespace, name, status in _OTHERS}

    def documents(self) -> Iterable[tuple[GroupKey, Document]]:
        for each in (self.living.document, *self.others.values()):
            meta = each["metadata"]
            yield GroupKey(meta["namespace"], meta["name"]), each

    def act(self, words: list[str]) -> None:
        match words:
            case ["burst"]:
                self.living.load = BURST
            case ["calm"]:
                self.living.load = CALM
            case ["kill"]:
                self.living.kill_one()
            case ["state", name, word]:
                each = self.others[name]
                self.others[name] = {**each, "status": {**each["status"], "state": word}}
            case ["status", name, text]:
                each = self.others[name]
                self.others[name] = {**each, "status": {**each["status"], **json.loads(text)}}
            case ["led"] | ["unled"]:
                self.is_led = words == ["led"]
            case ["delivery", name, text]:
                each = self.others[name]
                self.others[name] = {**each, "spec": {**each["spec"], "delivery": json.loads(text)}}
            case ["delete", name]:
                del self.others[name]


def _other(namespace: str, name: str, status: Document) -> Document:
    found = group(status={**group()["status"], **status})
    found["metadata"] |= {"namespace": namespace, "name": name}
    return found


SHOWN = ShownCommands("tidegate {command} {name}", "tidegate deadletters list --file {name}")
_OTHERS: tuple[tuple[str, str, Document], ...] = (
    ("homes", "alarms", {"lag": 0, "behind": "0s", "partitionStates": [
        state(str(at), f"home-{'ab'[at % 2]}") for at in range(4)]}),
    ("homes", "archive", {"state": "ScaledToZero", "ready": "0/0", "wanted": 0, "members": [],
        "lag": 0, "behind": "0s", "partitionStates": [state(str(at), None) for at in range(4)]}),
    ("billing", "invoices", {
        "state": "CrashLoop", "ready": "0/2", "lag": 48_211, "behind": "14m",
        "members": [member("invoices-7c9-x1", ready=False, partitions=0)],
        "partitionStates": [
            state(str(at), None, lag=12_000 + at, behindSeconds=840.0 + at) for at in range(3)]
            + [state("3", None, lag=12_100, lagKind="lost", behindSeconds=900.0)],
        "conditions": [
            condition("Ready", "False", "CrashLoop", f"The consumer of pod {HOSTILE} ends again "
                "and again, with exit code 1. `kubectl logs --previous` of the pod says why."),
            condition("Balanced", "False", "NoMembers", "No member is alive."),
            condition("RetentionLoss", "True", "EventsLost", "Retention has passed the checkpoint "
                "of partition 3.")]}),
    ("billing", HOSTILE, {"state": HOSTILE, "members": [member(HOSTILE)],
        "scaling": {"mode": "Auto", "objective": HOSTILE, "wanted": 2, "reason": HOSTILE,
            "message": HOSTILE, "decisions": [
                {"time": "2026-11-18T17:00:00Z", "to": 2, "reason": HOSTILE, "message": HOSTILE}]},
        "partitionStates": [state(HOSTILE, HOSTILE)]}),
)  # fmt: skip


class FewTokens:
    """Kubernetes, as far as it is asked."""

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document:
        if kind == TOKEN_REVIEW:
            name = spec["token"] if spec["token"] in ("all", "homes") else ""
            user = {"username": name, "groups": ["system:authenticated"]}
            return {"authenticated": bool(name), "user": user if name else {}}
        asked = spec["resourceAttributes"]
        return {"allowed": spec["user"] == "all" or asked.get("namespace") == "homes"}


async def serve(speed: float, port: int, *, has_tokens: bool) -> None:
    """Until the standard input ends."""
    groups = ShownGroups(LivingGroup())
    groups.living.run(60.0)
    admission: Admission = ByKubernetes(FewTokens()) if has_tokens else Loopback(SHOWN)
    address = Address("127.0.0.1", port)
    console = await serve_console(
        address, groups, admission, lambda: groups.living.now, lambda: groups.is_led
    )
    print(f"serving at http://127.0.0.1:{console.endpoints.port}", flush=True)
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    reading = asyncio.create_task(_read(lines, groups))
    while not reading.done():
        groups.living.step()
        await asyncio.sleep(STEP_S / speed)
    await console.close()


async def _read(lines: asyncio.StreamReader, groups: ShownGroups) -> None:
    while line := (await lines.readline()).decode().strip():
        if line == "end":
            return
        groups.act(line.split(maxsplit=2))
        print(f"did {line}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tokens", action="store_true")
    told = parser.parse_args()
    asyncio.run(serve(told.speed, told.port, has_tokens=told.tokens))
