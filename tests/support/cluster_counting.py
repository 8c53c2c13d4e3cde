"""A group on a cluster whose every event is counted: sent by a pod, handled by the group's pods,
and written down by their handlers where this machine reads it.

    with counted_group(release, folder, storage) as counted:
        with counted.measured() as seen:
            counted.group.scale(2)
            counted.group.until_settled(2, 60)
        assert seen.duplicates == 0 and p95(seen.idle_s) < 2

Rules: whatever is done to the group, at the end of each measuring every partition has been read
again, nothing is lost or out of order, and no checkpoint went back (P1, P2, P3, P5): that is
asserted here, for all that happened since the beginning.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from azure.storage.blob import ContainerClient

from support.cluster_api import until
from support.cluster_group import Group, a_group
from support.cluster_manifests import config_map, pod, python
from support.cluster_release import SECRET, Release
from support.endless_sender import EVERY_S
from support.handled_log import HandledLog
from support.idle_times import Change, changes, longest_pause_s, p95
from support.ledger_watch import LedgerWatch, ledger_watch
from support.real_history import judged

HUB, PARTITIONS, PODS = "counted", 12, 3
CHECKPOINT_S = 1.0
# What is handled and not yet checkpointed when a member is killed: by time, and the batch at hand.
DUPLICATES_AT_MOST = round((CHECKPOINT_S + 0.5) / EVERY_S) + 2
_HERE = Path(__file__).parent
_STOP = "/scratch/stop"
_READ_ON_SECONDS = 60.0


@dataclass
class Seen:
    """What happened while something was done to the group."""

    since: float
    changes: list[Change] = field(default_factory=list)
    duplicates: int = 0
    # The longest time that any partition stood still, whoever had it.
    longest_pause_s: float = 0.0

    @property
    def moves(self) -> list[Change]:
        return [each for each in self.changes if each.is_move]

    @property
    def idle_s(self) -> list[float]:
        return [each.idle_s for each in self.changes]

    def keep(self, what: str) -> None:
        """A line of figures for who asked for them by TIDEGATE_FIGURES, a file."""
        file = os.environ.get("TIDEGATE_FIGURES")
        if file:
            row = {
                "what": what, "moves": len(self.moves), "changes": len(self.changes),
                "idle_s": self.idle_s, "duplicates": self.duplicates,
            }  # fmt: skip
            with Path(file).open("a", encoding="utf-8") as sink:
                sink.write(json.dumps(row) + "\n")

    def told(self, what: str) -> str:
        """For people who read the output of the tests."""
        times = self.idle_s
        idle = f"p95 {p95(times):.2f} s, most {max(times):.2f} s" if times else "-"
        return (
            f"\n{what}: {len(self.moves)} moves, {len(self.changes)} changes, idle {idle}, "
            f"{self.duplicates} duplicates, longest pause {self.longest_pause_s:.2f} s"
        )


class Counted:
    """See the module. Made by `counted_group`."""

    def __init__(
        self,
        group: Group,
        file: Path,
        blobs: ContainerClient,
        ledger: LedgerWatch,
        partitions: int = PARTITIONS,
        sender: str = "sender",
    ) -> None:
        self.group = group
        self._sender = sender
        self.log = HandledLog(file)
        self.ledger = ledger
        self._file = file
        self._blobs = blobs
        self._read = dict.fromkeys(map(str, range(partitions)), 0)

    def read_on(self) -> None:
        """Takes in what handlers have written since."""
        with self._file.open("ab") as file:
            for partition, at in self._read.items():
                blob = self._blobs.get_blob_client(partition)
                if blob.get_blob_properties().size > at:
                    said = blob.download_blob(offset=at).readall()
                    whole = said[: said.rfind(b"\n") + 1]
                    file.write(whole)
                    self._read[partition] = at + len(whole)
        self.log.read_on()

    def handled_since(self, moment: float) -> set[str]:
        """The partitions of which something was handled after a moment."""
        self.read_on()
        return {batch.partition for batch in self.log.batches if batch.at > moment}

    def until_read_on(self, seconds: float = _READ_ON_SECONDS) -> None:
        """Waits until every partition is read: something of it is handled from now on."""
        now = time.time()
        until(
            lambda: len(self.handled_since(now)) == len(self._read),
            seconds,
            "every partition to be read",
            lambda: f"{self.log.standing()}\n{self.group.told()}",
        )

    def owners(self) -> dict[str, str]:
        """Who handled each partition last, by what handlers wrote."""
        self.read_on()
        last = sorted(self.log.batches, key=lambda batch: (batch.epoch, batch.at))
        return {batch.partition: batch.who.partition("#")[0] for batch in last}

    @contextlib.contextmanager
    def measured(self) -> Iterator[Seen]:
        """Until the end of the block, and until all is read again; see the module."""
        self.read_on()
        seen, before = Seen(time.time()), self.log.duplicates
        yield seen
        self.until_read_on()
        seen.changes = changes(self.log.batches, seen.since)
        seen.duplicates = self.log.duplicates - before
        seen.longest_pause_s = longest_pause_s(self.log.batches, seen.since)
        self.assert_exact()

    def assert_exact(self) -> None:
        """P1, P2, P3 and P5 of all that happened so far."""
        checkpoints = self.ledger.checkpoints()
        # Only now: what a checkpoint covers was written down before it.
        self.read_on()
        assert self.log.lost() == 0, self.log.standing()
        assert not self.log.disorder, self.log.disorder
        handled = {name: self.log.through(name) + 1 for name in self._read}
        assert not (wrong := judged(self.log.batches, checkpoints, handled)), wrong
        assert not self.ledger.steps_back(), self.ledger.steps_back()

    def stop_sending(self) -> int:
        """Ends the sender; how many events each partition was sent, all accepted by the hub."""
        kubectl = self.group.kubectl
        kubectl.said("exec", self._sender, "--", "touch", _STOP)
        assert kubectl.until_ended(self._sender)["exitCode"] == 0, kubectl.log(self._sender)
        return int(kubectl.log(self._sender).splitlines()[-1])


@contextlib.contextmanager
def counted_group(
    release: Release,
    folder: Path,
    storage: str,
    *,
    hub: str = HUB,
    partitions: int = PARTITIONS,
    pods: int = PODS,
) -> Iterator[Counted]:
    """The group of a hub's name with its pods, reading what the sender sends."""
    handler = (_HERE / "appending_handler.py").read_text(encoding="utf-8")
    sender = (_HERE / "endless_sender.py").read_text(encoding="utf-8")
    # On every node, so that each can be hit.
    tolerations = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]
    with contextlib.ExitStack() as stack:
        blobs = ContainerClient.from_connection_string(storage, f"{hub}-seen")
        stack.enter_context(blobs).create_container()
        for partition in range(partitions):
            blobs.get_blob_client(str(partition)).create_append_blob()
        release.inside.apply(
            config_map(f"{hub}-handler", {"handler.py": handler}),
            config_map(f"{hub}-sender", {"sender.py": sender}),
        )
        group = a_group(
            release,
            hub,
            hub=hub,
            handler={"configMap": f"{hub}-handler", "code": "handler.py:handle"},
            delivery={"checkpoint": {"everySeconds": CHECKPOINT_S}, "timeoutSeconds": 20},
            scaling={"min": 1, "max": 6},
            replicas=pods,
            template={"spec": {"tolerations": tolerations}},
        )
        ready = stack.enter_context(group)
        ready.until_settled(pods, 90)
        release.inside.apply(sender_pod(f"{hub}-sender", hub, str(partitions), _STOP))
        ledger = stack.enter_context(ledger_watch(storage, hub))
        counted = Counted(
            ready, folder / "seen.log", blobs, ledger, partitions, sender=f"{hub}-sender"
        )
        counted.until_read_on()
        yield counted


def sender_pod(name: str, *arguments: str) -> dict[str, object]:
    """Runs sender.py of the ConfigMap of its name, which sends to a hub as it is told to."""
    main = python("") | {
        "command": ["tini", "--", "python", "/sender/sender.py", "$(EVENTS)", *arguments],
        "env": [
            {"name": "EVENTS", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "events"}}}
        ],
        "volumeMounts": [
            {"name": "sender", "mountPath": "/sender"},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    volumes = [
        {"name": "sender", "configMap": {"name": name}},
        {"name": "scratch", "emptyDir": {}},
    ]
    return pod(name, main, volumes=volumes)
