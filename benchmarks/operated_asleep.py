"""An operator whose 500 groups sleep until an event comes: what it takes, and how soon they wake.

Part of `make bench-operator`. Groups with `min: 0` and no pods, five on each hub of 16 partitions;
the hubs are ours, in a process of their own. The ledgers are those of operated_ledgers.py: every
partition has a checkpoint, and nobody writes.

Rules: as in operated.py. A wake-up counts from when the hub has said that it has the event to when
the Deployment of each group of that hub asks for a pod.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import Bench, cpu_seconds, make_line, resident_mb
from hub_server import Server, server
from operated_ledgers import Ledgers, ledgers
from operated_pods import GROUPS, Kubelets, kubelets
from support.azurite import ACCOUNT, ACCOUNT_KEY
from support.cluster_groups import control_plane_with_groups
from support.operator_process import OperatorProcess, operator_process
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing

PARTITIONS, GROUPS_A_HUB = 16, 5
SECRET = "azure"
CORE, WOKEN_S = 0.25, 5.0
MADE_WITHIN_S = 600.0


@dataclass(frozen=True, slots=True)
class Sleepers:
    """How many sleep, for how long that is looked at, and how many hubs get an event then."""

    groups: int
    steady_s: float
    events: int

    @property
    def hubs(self) -> int:
        return self.groups // GROUPS_A_HUB


FULL, QUICK = Sleepers(500, 60.0, 10), Sleepers(25, 6.0, 2)


def hub_of(number: int, sleepers: Sleepers) -> str:
    return f"hub-{number % sleepers.hubs:03}"


def group_document(name: str, hub: str) -> dict[str, object]:
    def of_secret(key: str) -> dict[str, str]:
        return {"secret": SECRET, "key": key}

    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name},
        "spec": {
            "source": {"eventHubs": {"hub": hub, "connectionString": of_secret("events")}},
            "ledger": {"container": name, "connectionString": of_secret("storage")},
            "handler": {"code": "tidegate.handlers.printing:handle"},
            "scaling": {"min": 0, "max": 8},
        },
    }


def are_asleep(kubes: Kubelets, count: int) -> bool:
    """Whether no group wants a pod, and of each all partitions are known, as its status says."""
    told = [group.get("status") or {} for group in list(kubes.groups.values())]
    return len(told) == count and all(
        each.get("wanted") == 0 and each.get("lagPartitions") == PARTITIONS for each in told
    )


class _World:
    """See `world`."""

    def __init__(self, sleepers: Sleepers, hub: Server, books: Ledgers, kubes: Kubelets) -> None:
        self.sleepers, self.books, self.kubes = sleepers, books, kubes
        self.events = (
            f"Endpoint=sb://localhost:{hub.port};SharedAccessKeyName=RootManageSharedAccessKey;"
            "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true"
        )
        self.names = [f"group-{number:03}" for number in range(sleepers.groups)]

    def make(self) -> None:
        for number, name in enumerate(self.names):
            self.books.add(name)
            self.books.groups[name].sleeps = True
            self.kubes.ask("POST", GROUPS, group_document(name, hub_of(number, self.sleepers)))

    def send(self, hub: str) -> float:
        """One event; when the hub had it."""

        async def send() -> float:
            sender = NativeSender(self.events, hub)
            await sender.send([Outgoing(b"one", partition="3")])
            await sender.flush()
            sent_at = time.monotonic()
            await sender.close()
            return sent_at

        return asyncio.run(send())

    def woken_s(self, hub: str) -> float:
        """How long it takes until each group that reads this hub asks for a pod."""
        its = [n for at, n in enumerate(self.names) if hub_of(at, self.sleepers) == hub]

        def are_awake() -> bool:
            found = self.kubes.deployments
            return all(found[name]["spec"]["replicas"] for name in its)

        sent_at = self.send(hub)
        return self.kubes.wait(are_awake, 60, f"the groups of {hub} to wake") - sent_at


@contextmanager
def world(programs: Path, sleepers: Sleepers) -> Iterator[tuple[_World, OperatorProcess]]:
    """Groups that are there, and an operator that has just begun."""
    with ExitStack() as stack:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-operator-"))
        folder = Path(made)
        hubs = [f"--hub=hub-{number:03}:{PARTITIONS}" for number in range(sleepers.hubs)]
        hub = stack.enter_context(server(*hubs))
        books = stack.enter_context(ledgers(PARTITIONS))
        cluster = stack.enter_context(control_plane_with_groups(programs, folder / "state"))
        inside = stack.enter_context(cluster.new_namespace("bench"))
        kubes = stack.enter_context(kubelets(inside.kubeconfig, inside.namespace, books))
        found = _World(sleepers, hub, books, kubes)
        storage = (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
            f"BlobEndpoint=http://127.0.0.1:{books.port}/{ACCOUNT};"
        )
        inside.said(
            "create", "secret", "generic", SECRET, f"--from-literal=events={found.events}",
            f"--from-literal=storage={storage}",
        )  # fmt: skip
        found.make()
        operator = stack.enter_context(operator_process(inside, folder))
        operator.until_leading()
        yield found, operator


def measure_asleep(bench: Bench, programs: Path, sleepers: Sleepers) -> None:
    """Adds the lines."""
    with world(programs, sleepers) as (made, operator):
        made.kubes.wait(
            lambda: are_asleep(made.kubes, sleepers.groups), MADE_WITHIN_S, "all groups to sleep"
        )
        pid = operator.process.pid
        before, listings, begun = cpu_seconds(pid), made.books.listings, time.monotonic()
        # What is measured is the time itself.
        time.sleep(sleepers.steady_s)
        seconds = time.monotonic() - begun
        used = (cpu_seconds(pid) - before) / seconds
        what = f"{sleepers.groups} groups that sleep, on {sleepers.hubs} hubs of {PARTITIONS}"
        bench.add(make_line(f"{what}: CPU", "cores", ours=round(used, 3),
                            target=CORE if sleepers is FULL else None))  # fmt: skip
        bench.add(make_line(f"{what}: looks at ledgers", "/s",
                            ours=round((made.books.listings - listings) / seconds, 1)))  # fmt: skip
        bench.add(make_line(f"{what}: resident", "MB", ours=round(resident_mb(pid), 1)))
        dice = random.Random(1)
        hubs = dice.sample(range(sleepers.hubs), sleepers.events)
        took = [made.woken_s(hub_of(number, sleepers)) for number in hubs]
        bench.add(make_line("an event for groups that sleep: each asks for a pod, longest", "s",
                            ours=round(max(took), 3), target=WOKEN_S))  # fmt: skip
        assert not operator.errors(), operator.errors()
