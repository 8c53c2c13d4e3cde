"""Everything that hub, network and storage can do to a running group, one after the other.

The group resumes by itself each time, with nothing lost and no checkpoint set back, and no event is
handled by two owners of one epoch (P1 to P5). The faults that tests/contract/group injects already
(links and connections cut, no entry for a while, a long stall, lost replies) are left to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.azurite import connection_string
from support.command_group import CommandGroup, a_command_group
from support.fault_proxy import (
    Answer,
    Delay,
    Fault,
    FaultProxy,
    Hold,
    LoseReply,
    Refuse,
    Request,
    Swallow,
    fault_proxy,
    query,
)
from support.handled_log import HandledLog
from support.ledger_watch import LedgerWatch, ledger_watch
from support.real_history import judged
from support.steady_sender import steady_events
from support.wait import wait_until
from tidegate.ledger.access import BlobSettings
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PARTITIONS = 4
BUDGET = 200
HANDLER = Path(__file__).parents[2] / "support" / "plain_handler.py"


class Struck(NamedTuple):
    """A fault that was injected: when its time ends, and whether all of it has hit something."""

    ends_at: float
    has_hit: Callable[[], bool]


@dataclass
class World:
    """A group whose ways to hub and storage can be made bad."""

    hub: RunningHub
    network: FaultProxy
    storage: FaultProxy
    group: CommandGroup
    log: HandledLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = HandledLog(self.group.folder / "seen.log")

    def events(self) -> dict[str, int]:
        """How many events each partition has so far."""
        names = map(str, range(PARTITIONS))
        return {name: self.hub.range_of(self.group.hub_name, name)[1] for name in names}

    def wait_until_over(self, struck: Struck, before: dict[str, int], fault: str) -> None:
        """Waits until a fault has hit, and for an event of each partition since its beginning."""

        def is_over() -> bool:
            has_more = all(count > before[name] for name, count in self.events().items())
            return has_more and struck.has_hit() and time.monotonic() >= struck.ends_at

        wait_until(is_over, 90, f"the end of: {fault}", self.standing)

    def wait_until_handled(self, seconds: float, after: str) -> None:
        """Waits until all is handled that is there now."""
        wanted = self.events()

        def is_handled() -> bool:
            self.log.read_on()
            return all(self.log.through(name) >= count - 1 for name, count in wanted.items())

        wait_until(is_handled, seconds, f"the group to go on after {after}", self.standing)

    def standing(self) -> object:
        said = {name: self.group.output(name)[-3000:] for name in ("a", "b")}
        return self.log.standing(), self.events(), said


Inject = Callable[[World], Struck]


# What these hit belongs to no consumer group. The hub server is the test's own: nobody else is hit.
NO_PLACE = ("refuse_token", "stop_accepting", "throttle")


def at_hub(kind: str, *, drops: bool = False, for_s: float = 0.0, **fields: Any) -> Inject:
    """A scripted fault of the hub, whose readers' connections are cut as well if it says so."""

    def inject(world: World) -> Struck:
        readers: dict[str, Any] = {"hub": world.group.hub_name, "group": "$default"}
        has_place = kind not in NO_PLACE and fields.get("on") != "management"
        given = {**readers, **fields} if has_place else dict(fields)
        if for_s:
            given["for_seconds"] = for_s
        id = world.hub.inject(kind, **given)
        if drops:
            world.hub.inject("drop_connection", **readers)
        return Struck(
            time.monotonic() + for_s, lambda: bool(for_s) or not world.hub.fault_stands(id)
        )

    return inject


def retention_ends(world: World) -> Struck:
    """Takes what was handled, and nothing else: that would be lost, and rightly."""
    world.log.read_on()
    ids = [
        world.hub.inject(
            "expire_retention",
            hub=world.group.hub_name,
            partition=name,
            before_sequence=world.log.through(name) + 1,
        )
        for name in world.events()
    ]
    return Struck(0.0, lambda: not any(map(world.hub.fault_stands, ids)))


def on_the_way(to: str, what: Fault, *, cuts: bool = False) -> Inject:
    """A fault of a proxy; some also cut what is open."""

    def inject(world: World) -> Struck:
        proxy = world.network if to == "hub" else world.storage
        fault, before = proxy.add(replace(what)), len(proxy.requests)
        if cuts:
            proxy.cut()

        def has_hit() -> bool:
            is_asked = to == "hub" or cuts or len(proxy.requests) > before
            return is_asked and not fault.times

        return Struck(time.monotonic() + (fault.for_s or 0.0), has_hit)

    return inject


def checkpoint_writes(request: Request) -> bool:
    return request.method == "PUT" and "/checkpoint/" in request.target


FAULTS: dict[str, Inject] = {
    "a busy hub, while reading": at_hub("server_busy", on="receive", times=4, wait_seconds=1),
    "a busy hub, asked about itself": at_hub("server_busy", on="management", times=1),
    "a throttled sender": at_hub("throttle", events_per_second=20, for_s=2.0),
    "an error inside the hub": at_hub("detach_link", condition="amqp:internal-error"),
    "a hub whose settings change": at_hub("detach_link", condition="com.microsoft:entity-updated"),
    "links detached while reading": at_hub("detach_link", on="receive", times=6),
    "links detached while attaching": at_hub("detach_link", on="attach", times=3, drops=True),
    "a connection cut while reading": at_hub("drop_connection", on="receive", times=3),
    "a connection cut in its request": at_hub("drop_connection", on="management", times=1),
    "a slow hub, while reading": at_hub("delay", on="receive", seconds=0.4, times=8),
    "a slow hub, while attaching": at_hub("delay", on="attach", seconds=1, times=4, drops=True),
    "tokens refused": at_hub("refuse_token", for_s=2.0, drops=True),
    "no new connections": at_hub("stop_accepting", for_s=2.0, drops=True),
    "retention that ends": retention_ends,
    "a slow way to the hub": on_the_way("hub", Delay(seconds=0.2, for_s=2)),
    "no way to the hub": on_the_way("hub", Refuse(for_s=2), cuts=True),
    "nothing comes from the hub": on_the_way("hub", Swallow(for_s=3)),
    "nothing gets to the hub": on_the_way("hub", Swallow(direction="to_server", for_s=3)),
    "slow storage": on_the_way("storage", Delay(seconds=0.4, for_s=3)),
    "storage that is too busy": on_the_way("storage", Answer(status=429, for_s=2)),
    "storage that fails": on_the_way("storage", Answer(status=500, for_s=2)),
    "leases refused": on_the_way("storage", Answer(status=409, match=query("comp=lease"), times=3)),
    "writes refused": on_the_way("storage", Answer(status=412, match=checkpoint_writes, times=2)),
    "storage that stands still": on_the_way("storage", Hold(for_s=3)),
    "checkpoints whose replies get lost": on_the_way(
        "storage", LoseReply(match=checkpoint_writes, times=6)
    ),
    "no way to storage": on_the_way("storage", Refuse(for_s=3), cuts=True),
    "nothing comes from storage": on_the_way("storage", Swallow(for_s=3)),
    "nothing gets to storage": on_the_way("storage", Swallow(direction="to_server", for_s=3)),
}


@pytest.fixture
def world(hub: RunningHub, azurite: str, tmp_path: Path) -> Iterator[World]:
    """A group that runs, its ways to hub and storage through proxies."""
    with ExitStack() as stack:
        port = int(BlobSettings("any", connection_string=azurite).host.rpartition(":")[2])
        network = stack.enter_context(fault_proxy(hub.port, is_http=False))
        storage = stack.enter_context(fault_proxy(port))
        group = a_command_group(
            hub,
            azurite,
            tmp_path,
            HANDLER.read_text(encoding="utf-8"),
            partitions=PARTITIONS,
            delivery=f"{{checkpoint: {{everySeconds: 1, duplicateBudget: {BUDGET}}}}}",
            events=hub.connection_string.replace(f":{hub.port}", f":{network.port}"),
            storage=connection_string(storage.port),
        )
        yield World(hub, network, storage, stack.enter_context(group))


def every_fault(world: World) -> None:
    """Each, when the group is well; then the group must be well again by itself."""
    for name, inject in FAULTS.items():
        before = world.events()
        struck = inject(world)
        world.wait_until_over(struck, before, name)
        # Where bytes went nowhere the connections end with the fault: TCP loses none on the way.
        if name.startswith("nothing "):
            world.network.cut()
            world.storage.cut()
        world.wait_until_handled(90, name)
        world.hub.clear_faults()
        world.network.clear()
        world.storage.clear()


def test_a_group_goes_on_by_itself_after_every_fault_and_nothing_is_lost(
    world: World, azurite: str
) -> None:
    group = world.group
    ledger: LedgerWatch
    with ledger_watch(azurite, group.name) as ledger:
        with steady_events(world.hub.port, group.hub_name, PARTITIONS):
            for name in ("a", "b"):
                group.start(name)
            for name in ("a", "b"):
                group.wait_for_output(name, " reading ", 60)
            world.wait_until_handled(90, "the start")
            every_fault(world)
        world.wait_until_handled(90, "the last event")
        for name in ("a", "b"):
            group.stop(name)
    world.log.read_on()
    assert world.log.lost() == 0
    assert max(world.log.repeats.values(), default=0) <= BUDGET
    assert judged(world.log.batches, ledger.checkpoints(), world.events()) == []
