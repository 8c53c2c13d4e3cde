"""One ConsumerGroup on a cluster, as a person has it: applied, changed, looked at, deleted.

    with a_group(release, "home", hub="telemetry", scaling={"min": 2, "max": 4}) as group:
        group.until_ready(60)
        group.scale(3)

Rules: its ledger is a container of its own name. It is changed by kubectl alone, and gone at the
end of the block.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from support.cluster_api import Document, until
from support.cluster_release import PLURAL, Release, event_hubs, ledger

T = TypeVar("T")

LABEL = "tidegate.dev/group"


class Group:
    """See the module."""

    def __init__(self, release: Release, name: str) -> None:
        self.release = release
        self.name = name
        self.kubectl = release.inside
        self._api = release.api
        self._begun = time.monotonic()

    # --- what is done to it

    def patch(self, **spec: Any) -> None:
        """Changes its spec; None takes a key away."""
        change = json.dumps({"spec": spec})
        self.kubectl.said("patch", "cg", self.name, "--type=merge", "--patch", change)

    def scale(self, replicas: int) -> None:
        self.kubectl.said("scale", f"cg/{self.name}", f"--replicas={replicas}")

    def delete(self) -> None:
        self.kubectl.tried("delete", "cg", self.name, "--ignore-not-found", "--wait=false")
        self.until_gone()

    # --- how it is

    def there(self) -> Document:
        return self._api.there(PLURAL, self.name)

    def status(self) -> Document:
        found: Document = self.there().get("status") or {}
        return found

    def condition(self, type: str) -> Document:
        """Of its status; empty where that says nothing of it, or is of an older wish."""
        found = self.there()
        if (found.get("status") or {}).get("observedGeneration") != found["metadata"]["generation"]:
            return {}
        conditions = found["status"].get("conditions", ())
        return next((each for each in conditions if each["type"] == type), {})

    def is_so(self, type: str) -> bool:
        return self.condition(type).get("status") == "True"

    def reason(self) -> str:
        """Of Ready, where that is not so."""
        ready = self.condition("Ready")
        return "" if ready.get("status") == "True" else str(ready.get("reason", ""))

    @property
    def age_s(self) -> float:
        """How long ago it was applied."""
        return time.monotonic() - self._begun

    def pods(self) -> list[Document]:
        return self._api.list("pods", f"{LABEL}={self.name}")

    def pod_names(self) -> list[str]:
        """Those that are there to stay."""
        return sorted(
            pod["metadata"]["name"]
            for pod in self.pods()
            if "deletionTimestamp" not in pod["metadata"]
        )

    def written(self) -> int:
        """How often what its Deployment shall be was written."""
        return int(self._api.there("deployments", self.name)["metadata"]["generation"])

    def owners(self) -> dict[str, str]:
        """Who owns each partition, as its status says."""
        return {
            each["partition"]: each["owner"]
            for each in self.status().get("partitionStates", ())
            if each.get("owner")
        }

    def events(self, reason: str) -> list[str]:
        """What was told of it with this reason."""
        return [
            event["message"]
            for event in self._api.list("events")
            if event["reason"] == reason and event["involvedObject"]["name"] == self.name
        ]

    def warnings(self) -> list[str]:
        """The Warning Events of the group: reasons and messages."""
        return [
            f"{event['reason']}: {event['message']}"
            for event in self._api.list("events")
            if event["type"] == "Warning"
            and event["involvedObject"]["kind"] == "ConsumerGroup"
            and event["involvedObject"]["name"] == self.name
        ]

    # --- waiting

    def until(self, what: str, condition: Callable[[], T], seconds: float) -> T:
        return until(condition, seconds, f"{what} ({self.name})", self.told)

    def is_settled(self, pods: int) -> bool:
        """Whether it is as it shall be with so many pods, who own it all, and nothing moves."""
        status = self.status()
        return (
            status.get("ready") == f"{pods}/{pods}"
            # A status may be older than the pods are.
            and set(self.owners().values()) <= set(self.pod_names())
            and len(self.pods()) == pods
            and status.get("state") == "Balanced"
            and self.is_so("Ready")
            and self.condition("Scaling").get("status") == "False"
        )

    def until_settled(self, pods: int, seconds: float) -> None:
        self.until(f"{pods} pods that share all", lambda: self.is_settled(pods), seconds)

    def until_gone(self) -> None:
        self.until("its pods to go", lambda: not self.pods(), 60)

    def told(self) -> str:
        """All that explains why it is not as it should be."""
        said = [
            *(str(each) for each in self.status().get("conditions", ())),
            f"{self.owners()} {self.status().get('members')}",
            self.kubectl.tried("get", "pods,cg,deployments", "--output", "wide").stdout,
            self.kubectl.tried("get", "events", "--sort-by", ".lastTimestamp").stdout[-1500:],
            *(line[:400] for line in self.release.log()[-15:]),
        ]
        for pod in self.pod_names():
            said.append(f"{pod}: {self.kubectl.tried('logs', pod, '--tail=8').stdout[-2000:]}")
        return "\n".join(said)


def document_of(name: str, hub: str, spec: Document) -> Document:
    """A ConsumerGroup with what every group of the tests has; None takes a key of that out."""
    ours = {
        "source": event_hubs(hub),
        "ledger": ledger(name),
        "handler": {"code": "tidegate.handlers.printing:handle"},
    }
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name},
        "spec": {key: value for key, value in (ours | spec).items() if value is not None},
    }


@contextlib.contextmanager
def groups(release: Release, *documents: Document) -> Iterator[list[Group]]:
    """Groups that were just applied, all at once."""
    found = [Group(release, document["metadata"]["name"]) for document in documents]
    release.inside.apply(*documents)
    try:
        yield found
    finally:
        names = [group.name for group in found]
        release.inside.tried("delete", "cg", *names, "--ignore-not-found", "--wait=false")
        for group in found:
            group.until_gone()


@contextlib.contextmanager
def a_group(release: Release, name: str, *, hub: str, **spec: Any) -> Iterator[Group]:
    """One group that was just applied."""
    with groups(release, document_of(name, hub, spec)) as (group,):
        yield group
