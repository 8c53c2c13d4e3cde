"""A group on a cluster whose size its operator decides, under a load that the test sets.

    with sized_group(release, folder, storage) as sized:
        sized.send(240)
        grown_at = sized.until_asked(lambda count: count > 1, 20)

Rules: every event is counted, as in cluster_counting. One consumer handles 100 events a second.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from azure.storage.blob import ContainerClient

from support.cluster_api import Document
from support.cluster_counting import Counted, sender_pod
from support.cluster_group import Group, a_group
from support.cluster_manifests import config_map
from support.cluster_release import Release
from support.ledger_watch import ledger_watch

HUB, PARTITIONS = "sized", 8
OBJECTIVE_S, SHRINK_S, IDLE_S = 30, 40, 45
SCALING: Document = {
    "min": 1,
    "max": 8,
    "mode": "Auto",
    "objective": {"within": f"{OBJECTIVE_S}s"},
    "shrinkAfterSeconds": SHRINK_S,
    "idleAfterSeconds": IDLE_S,
}
_HERE = Path(__file__).parent
_RATE = "/scratch/rate"


class Scaled:
    """A group whose size its operator decides, and a pod that sends to it as fast as it is told."""

    group: Group
    sender: str

    def send(self, rate: float) -> float:
        """From now on so many events a second; when that began, by the nodes' clock."""
        kubectl, before = self.group.kubectl, self._rates()
        if before and before[-1][1] == rate:
            return before[-1][0]
        kubectl.said("exec", self.sender, "--", "sh", "-c", f"echo {rate:g} > {_RATE}")
        found = self.group.until(
            f"{rate:g} events a second to be sent", lambda: self._rates()[len(before) :], 20
        )
        return found[-1][0]

    def _rates(self) -> list[tuple[float, float]]:
        """Since when the sender has sent how many a second."""
        lines = (line.split() for line in self.group.kubectl.log(self.sender).splitlines())
        return [(float(since), float(rate)) for since, rate, *_ in lines]

    def set(self, **changes: Any) -> None:
        """Changes spec.scaling."""
        self.group.patch(scaling=changes)

    def asked(self) -> int:
        """How many pods its Deployment is to have."""
        release = self.group.release
        return int(release.api.there("deployments", self.group.name)["spec"]["replicas"])

    def until_asked(self, is_it: Callable[[int], bool], seconds: float) -> tuple[int, float]:
        """How many were asked for in the end, and when that was seen."""
        found = self.group.until(
            "another number of pods to be asked for",
            lambda: (count, time.time()) if is_it(count := self.asked()) else None,
            seconds,
        )
        assert found is not None
        return found

    def scaling(self) -> Document:
        """What the status says of its size."""
        found: Document = self.group.status().get("scaling") or {}
        return found

    def until_known(self) -> None:
        """Until it is known what one consumer handles."""
        self.group.until("the consumer to be known", lambda: self.scaling().get("perConsumer"), 60)

    def until_rested(self, seconds: float) -> int:
        """Until as many as are wanted share all; how many these are."""

        def rested() -> int:
            wanted = int(self.group.status().get("wanted") or 0)
            return wanted if wanted and self.group.is_settled(wanted) else 0

        return self.group.until("the group to rest", rested, seconds)


class Sized(Counted, Scaled):
    """See the module. Made by `sized_group`."""

    sender = "paced"


@contextlib.contextmanager
def sized_group(release: Release, folder: Path, storage: str) -> Iterator[Sized]:
    """The group, with one pod and nothing sent yet."""
    files = {
        "handler.py": (_HERE / "limited_handler.py").read_text(encoding="utf-8"),
        "appending.py": (_HERE / "appending_handler.py").read_text(encoding="utf-8"),
    }
    sender = (_HERE / "paced_sender.py").read_text(encoding="utf-8")
    with contextlib.ExitStack() as stack:
        blobs = ContainerClient.from_connection_string(storage, f"{HUB}-seen")
        stack.enter_context(blobs).create_container()
        for partition in range(PARTITIONS):
            blobs.get_blob_client(str(partition)).create_append_blob()
        release.inside.apply(
            config_map("sized-handler", files), config_map("paced", {"sender.py": sender})
        )
        group = a_group(
            release,
            HUB,
            hub=HUB,
            handler={"configMap": "sized-handler", "code": "handler.py:handle"},
            delivery={
                "batch": {"maxEvents": 50},
                "checkpoint": {"everySeconds": 1.0},
                "timeoutSeconds": 60,
            },
            scaling=SCALING,
        )
        ready = stack.enter_context(group)
        ready.until_settled(1, 90)
        release.inside.apply(sender_pod("paced", HUB, str(PARTITIONS), _RATE))
        stack.callback(release.inside.tried, "delete", "pod", "paced", "--wait=false")
        ready.until(
            "the sender to run", lambda: "running" in release.inside.container_state("paced"), 60
        )
        ledger = stack.enter_context(ledger_watch(storage, HUB))
        yield Sized(ready, folder / "seen.log", blobs, ledger, PARTITIONS)
