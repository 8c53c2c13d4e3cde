"""A group on a cluster to which everything is done, and whose every event is counted.

    with chaos_group(release, folder, storage) as chaos:   # of cluster_chaos_group.py
        with chaos.struck("sigkill", duplicates=20) as seen:
            kill_process(chaos.kubectl, chaos.group.pod_names()[0])
            chaos.until_settled()

Rules: its hub is its own, checks keys, and can be made to fail; its pods and its operator reach hub
and storage by ways that can be made bad, and nobody else does. It is there for the next fault when
a test begins, settled and read. What a fault did is measured from its first moment until every
partition is read again: nothing lost, in order, no checkpoint set back, and no epoch twice is
asserted then, how often events came again, and that checkpoints follow. Only then are the figures
kept.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from azure.eventhub import EventData, EventHubProducerClient
from azure.storage.blob import ContainerClient

from support.chaos_notes import ChaosNotes
from support.cluster_api import until
from support.cluster_counting import Counted, Seen
from support.cluster_group import Group
from support.cluster_kubectl import Kubectl
from support.cluster_manifests import hub_connection
from support.cluster_release import Release
from support.ledger_watch import LedgerWatch

NAME, PARTITIONS, PODS = "chaos", 9, 3
SHARE = PARTITIONS // PODS
SERVER, SENDER, WAYS = "chaos-hub", "chaos-sender", "chaos-ways"
ADMIN_PORT, HUB_PORT, STORAGE_PORT, CONTROL_PORT = 5300, 5672, 10000, 9400
MEMORY = "256Mi"
STORAGE = "tidegate-azurite"
Way = Literal["hub", "storage"]
# The longest call, and what else a stop may take.
CALL_S = 20.0
STOP = "/scratch/stop"
# The body of an event that its handler cannot handle.
POISON = b"poison"
SETTLED_S = 120.0


@dataclass(frozen=True, slots=True)
class Ports:
    """Where this machine reaches what the faults are asked of, and the hub itself."""

    admin: int
    hub: int
    ways: int


class Chaos(Counted):
    """See the module. Made by `chaos_group`."""

    def __init__(
        self,
        group: Group,
        file: Path,
        blobs: ContainerClient,
        ledger: LedgerWatch,
        *,
        container: ContainerClient,
        ports: Ports,
    ) -> None:
        super().__init__(group, file, blobs, ledger, PARTITIONS)
        self.notes = ChaosNotes()
        # The ledger itself, for those who lay hands on it.
        self.container = container
        self._ports = ports

    @property
    def kubectl(self) -> Kubectl:
        return self.group.kubectl

    @property
    def release(self) -> Release:
        return self.group.release

    # --- measuring

    def until_settled(self, pods: int = PODS, seconds: float = SETTLED_S) -> None:
        """Until its status says so, and all have an even share by the leases: one who was away
        and has just come back is none of the owners yet."""

        self.group.until(
            f"{pods} pods that share all evenly", lambda: self.is_settled(pods), seconds
        )

    def is_settled(self, pods: int) -> bool:
        """Whatever else its status has to say, such as that retention has taken something."""
        group = self.group
        shares = Counter(self.ledger.owners().values())
        return (
            group.status().get("ready") == f"{pods}/{pods}"
            and len(group.pods()) == pods
            and group.is_so("Ready")
            and group.is_so("Balanced")
            and group.condition("Scaling").get("status") == "False"
            and set(shares) == set(group.pod_names())
            and max(shares.values()) - min(shares.values()) <= 1
        )

    def until_rolled_out(self, before: list[str], seconds: float = 180.0) -> None:
        """Until other pods have all that these had."""
        self.group.until(
            "pods of the new kind alone",
            lambda: not set(before) & set(self.group.pod_names()),
            seconds,
        )
        self.until_settled(seconds=seconds)

    def let_pass(self, seconds: float) -> None:
        """Time in which every partition has to be read on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.until_read_on()

    def until_rested(self) -> None:
        """Until all is settled, and what was handled by then is in a checkpoint."""
        self.until_settled()
        self.until_read_on()
        self.until_kept()

    def until_kept(self) -> None:
        """Until what is handled by now is in checkpoints: a kill would repeat no more of it."""
        self.read_on()
        handled = {name: self.log.through(name) for name in self._read}

        def is_kept() -> bool:
            found = self.ledger.checkpoints()
            return all(
                name in found and found[name][-1].sequence >= last for name, last in handled.items()
            )

        self.group.until("all of it to be in checkpoints", is_kept, 30)

    @contextlib.contextmanager
    def struck(self, fault: str, *, duplicates: int = 0, **more: Any) -> Iterator[Seen]:
        """What is done in the block is this fault; it is over, and all settled, at its end.

        `duplicates`: how many events may come again at most.
        """
        self.notes.forget(fault)
        self.until_rested()
        epochs = self.ledger.epochs()
        with self.measured() as seen:
            yield seen
        print(seen.told(fault))
        self.until_kept()
        assert seen.duplicates <= duplicates, f"{fault}: {seen.duplicates} came again"
        assert all(now >= epochs.get(name, 0) for name, now in self.ledger.epochs().items())
        self.notes.keep(
            fault,
            resumed_s=round(max(seen.idle_s, default=0.0), 2),
            longest_pause_s=round(seen.longest_pause_s, 2),
            moves=len(seen.moves),
            duplicates=seen.duplicates,
            duplicates_allowed=duplicates,
            **more,
        )

    def owned_by(self, pod: str) -> set[str]:
        return {partition for partition, name in self.owners().items() if name == pod}

    def until_moved_from(self, pod: str, seconds: float) -> None:
        """Until others have handled something of all that a pod had."""
        self.group.until(
            f"others to read what {pod} had",
            lambda: pod not in self.owners().values(),
            seconds,
        )

    def stop_sending(self) -> int:
        self.kubectl.said("exec", SENDER, "--", "touch", STOP)
        assert self.kubectl.until_ended(SENDER)["exitCode"] == 0, self.kubectl.log(SENDER)
        return int(self.kubectl.log(SENDER).splitlines()[-1])

    # --- what is done to pods

    def told(self, pod: str, file: str, text: str = "") -> None:
        """Writes a file into the scratch volume of a pod, which its handler looks for."""
        program = f"open('/scratch/{file}', 'w').write('{text}')"
        self.kubectl.said("exec", pod, "--", "python", "-c", program)

    def until_file(self, pod: str, file: str, seconds: float = 30.0) -> None:
        program = f"import os; assert os.path.exists('/scratch/{file}')"

        def is_there() -> bool:
            ran = self.kubectl.tried("exec", pod, "--", "python", "-c", program)
            return ran.returncode == 0

        until(is_there, seconds, f"{file} in {pod}")

    def restarts(self, pod: str) -> int:
        (found,) = (each for each in self.group.pods() if each["metadata"]["name"] == pod)
        return int(found["status"]["containerStatuses"][0]["restartCount"])

    def last_end(self, pod: str) -> str:
        """Why the container of a pod ended last; '' where it never did."""
        (found,) = (each for each in self.group.pods() if each["metadata"]["name"] == pod)
        last = found["status"]["containerStatuses"][0].get("lastState", {})
        return str(last.get("terminated", {}).get("reason", ""))

    # --- what is done to the hub

    def inject(self, kind: str, **fields: Any) -> None:
        """A fault of the hub, as its admin API has it."""
        self._admin("POST", "faults", {"kind": kind, **fields})

    def expire(self, partition: str, before: int) -> None:
        """Retention takes what comes before a sequence number."""
        self.inject(
            "expire_retention",
            hub=NAME,
            partition=partition,
            parameters={"before_sequence": before},
        )

    def ends(self) -> dict[str, int]:
        """How many events each partition was ever sent."""
        rows = self._admin("GET", f"hubs/{NAME}/partitions")["partitions"]
        return {str(row["id"]): int(row["next_sequence"]) for row in rows}

    def _admin(self, method: str, path: str, body: object = None) -> Any:
        return asked(self._ports.admin, method, f"/api/v1/{path}", body)

    # --- what is done to the ways

    def on_way(self, to: Way, kind: str, **fields: Any) -> None:
        """A fault of the way to `hub` or `storage`; it stands until `clear`, or as it says."""
        asked(self._ports.ways, "POST", f"/{to}/faults", {"kind": kind, **fields})

    def cut(self, to: Way) -> None:
        """Every connection on this way ends, now."""
        asked(self._ports.ways, "POST", f"/{to}/cut", {})

    def freeze(self, to: Way) -> None:
        """Every connection on this way stays open, and passes nothing any more."""
        asked(self._ports.ways, "POST", f"/{to}/freeze", {})

    def clear(self, to: Way) -> None:
        asked(self._ports.ways, "DELETE", f"/{to}/faults", {})

    def passed(self, to: Way) -> int:
        """How many requests have come by this way."""
        return int(asked(self._ports.ways, "GET", "/")[to]["passed"])

    def send(self, partition: str, body: bytes, count: int = 1) -> None:
        """Events of our own, between those of the sender."""
        producer = EventHubProducerClient.from_connection_string(
            hub_connection("localhost", self._ports.hub), eventhub_name=NAME
        )
        with producer:
            batch = producer.create_batch(partition_id=partition)
            for _ in range(count):
                batch.add(EventData(body))
            producer.send_batch(batch)

    def until_all_handled(self, seconds: float = 60.0) -> dict[str, int]:
        """Until all is handled that there is now; how much that is."""
        ends = self.ends()

        def look() -> bool:
            self.read_on()
            return all(self.log.through(name) >= end - 1 for name, end in ends.items())

        until(look, seconds, f"{ends} to be handled", self.log.standing)
        return ends


def asked(port: int, method: str, path: str, body: object = None) -> Any:
    there = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(there):
        said = None if body is None else json.dumps(body)
        there.request(method, path, said, {"Content-Type": "application/json"})
        answer = there.getresponse()
        text = answer.read()
    assert answer.status in (200, 201), f"{method} {path}: {answer.status} {text!r}"
    return json.loads(text)
