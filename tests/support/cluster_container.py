"""A group on a cluster that reads a Cosmos container, and whose size its operator decides.

    with container_group(release, storage) as read:
        read.send(40)
        read.split()

Rules: items are numbered, each is written once, and all that handlers were given is written down.
One consumer handles twenty in a second. tidegate-cosmos is a pod beside the group.
"""

from __future__ import annotations

import contextlib
import http.client
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azure.storage.blob import ContainerClient

from support.cluster_group import Group, document_of, groups
from support.cluster_manifests import HUB as IMAGE
from support.cluster_manifests import config_map, container, deployment, pod, python, service
from support.cluster_release import Release
from support.cluster_sized import SCALING, Scaled
from support.cluster_ways import steady_way
from support.container_writer import HOMES

NAME, DATABASE, RANGES = "items", "home", 4
_PORT, _ADMIN_PORT = 8081, 5301
# Published, of Microsoft's emulator: it guards nothing.
_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
_HERE = Path(__file__).parent
_RATE = "/scratch/rate"


class Read(Scaled):
    """See the module. Made by `container_group`."""

    sender = "writer"

    def __init__(self, group: Group, blobs: ContainerClient, admin_port: int) -> None:
        self.group = group
        self._blobs = blobs
        self._admin_port = admin_port

    # --- the container

    def ranges(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._admin("GET", "ranges")["ranges"]
        return found

    def split(self) -> None:
        """The first of its ranges becomes two."""
        self._admin("POST", f"ranges/{self.ranges()[0]['id']}/split", {})

    def _admin(self, method: str, path: str, body: object = None) -> Any:
        there = http.client.HTTPConnection("127.0.0.1", self._admin_port, timeout=10)
        with contextlib.closing(there):
            there.request(
                method,
                f"/api/v1/containers/{DATABASE}/{NAME}/{path}",
                None if body is None else json.dumps(body),
                {"Content-Type": "application/json"},
            )
            answer = there.getresponse()
            said = answer.read()
            assert answer.status == 200, f"{method} {path}: {answer.status} {said!r}"
            return json.loads(said)

    # --- items

    def written(self) -> int:
        """How many items there were when the rate was changed last."""
        return int(self.group.kubectl.log(self.sender).splitlines()[-1].split()[2])

    def given(self) -> list[tuple[float, str, list[int]]]:
        """What handlers were given, the oldest first: when, to which member, and which items."""
        found = []
        for blob in self._blobs.list_blob_names():
            said = self._blobs.download_blob(blob, encoding="utf-8").readall()
            for line in said.splitlines():
                at, member, _, *numbers = line.split()
                found.append((float(at), member, [int(number) for number in numbers]))
        return sorted(found)

    def seen(self) -> Counter[int]:
        """How often each item was given."""
        return Counter(number for _, _, numbers in self.given() for number in numbers)

    def disorder(self) -> list[tuple[int, int]]:
        """Of one home: an item that was first given after a later one, and that."""
        newest: dict[int, int] = {}
        known: set[int] = set()
        found = []
        for _, _, numbers in self.given():
            for number in numbers:
                before = newest.get(number % HOMES, -1)
                if number not in known and number < before:
                    found.append((number, before))
                known.add(number)
                newest[number % HOMES] = max(number, before)
        return found

    def until_all_seen(self, seconds: float) -> None:
        written = self.written()

        def is_all_seen() -> bool:
            return self.seen().keys() >= set(range(written))

        self.group.until(f"all of {written} items to be handled", is_all_seen, seconds)


def _cosmos() -> tuple[dict[str, Any], ...]:
    """tidegate-cosmos, and where it is."""
    arguments = [
        "cosmos", "--host", "0.0.0.0", "--port", str(_PORT),
        "--container", f"{DATABASE}/{NAME}:/home:{RANGES}",
        "--admin-host", "0.0.0.0", "--admin-port", str(_ADMIN_PORT),
    ]  # fmt: skip
    ready = {"tcpSocket": {"port": _PORT}, "periodSeconds": 1}
    account = f"AccountEndpoint=http://cosmos:{_PORT}/;AccountKey={_KEY};"
    return (
        deployment("cosmos", container(IMAGE, args=arguments, readinessProbe=ready)),
        service("cosmos", _PORT),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "cosmos"},
            "stringData": {"account": account},
        },
    )


def _writer() -> dict[str, Any]:
    main = python("") | {
        "command": [
            "tini", "--", "python", "/writer/writer.py", "$(COSMOS)", DATABASE, NAME, _RATE,
        ],
        "env": [
            {"name": "COSMOS", "valueFrom": {"secretKeyRef": {"name": "cosmos", "key": "account"}}}
        ],
        "volumeMounts": [
            {"name": "writer", "mountPath": "/writer"},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }  # fmt: skip
    volumes = [
        {"name": "writer", "configMap": {"name": "writer"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    return pod("writer", main, volumes=volumes)


def _is_shared_by_one(group: Group) -> bool:
    """Whatever its engine is: with Spark there are more pods than consumers."""
    status = group.status()
    return (
        status.get("ready") == "1/1"
        and status.get("state") == "Balanced"
        and len(group.owners()) == RANGES
        and len(set(group.owners().values())) == 1
    )


@contextlib.contextmanager
def container_group(
    release: Release,
    storage: str,
    code: str = "container_handler.py:handle",
    *,
    name: str = NAME,
    **more: Any,
) -> Iterator[Read]:
    """The group, with one consumer and nothing written yet; `more` is of its spec."""
    file, _, function = code.partition(":")
    handler = (_HERE / file).read_text(encoding="utf-8")
    writer = (_HERE / "container_writer.py").read_text(encoding="utf-8")
    inside = release.inside
    with contextlib.ExitStack() as stack:
        blobs = ContainerClient.from_connection_string(storage, f"{name}-seen")
        stack.enter_context(blobs).create_container()
        inside.apply(
            *_cosmos(),
            config_map("items-handler", {"handler.py": handler}),
            config_map("writer", {"writer.py": writer}),
        )
        # To the end: the next test's are of the same names.
        stack.callback(
            inside.tried, "delete", "deployment/cosmos", "service/cosmos", "--cascade=foreground"
        )
        inside.wait_until_ready("cosmos")
        admin_port = stack.enter_context(steady_way(inside, "deployment/cosmos", _ADMIN_PORT))
        secret = {"secret": "cosmos", "key": "account"}
        source = {
            "database": DATABASE,
            "container": NAME,
            "connectionString": secret,
            "start": "earliest",
            "pollSeconds": 0.5,
        }
        document = document_of(
            name,
            name,
            {
                "source": {"cosmos": source},
                "handler": {"configMap": "items-handler", "code": f"handler.py:{function}"},
                "delivery": {"batch": {"maxEvents": 10}, "checkpoint": {"everySeconds": 1.0}},
                "scaling": SCALING,
                **more,
            },
        )
        (group,) = stack.enter_context(groups(release, document))
        group.until("one consumer to own all", lambda: _is_shared_by_one(group), 90)
        inside.apply(_writer())
        stack.callback(inside.tried, "delete", "pod", "writer")
        group.until("the writer to run", lambda: "running" in inside.container_state("writer"), 60)
        yield Read(group, blobs, admin_port)
