"""No secret is ever seen: planted keys, groups that work and groups that fail under `tidegate up`,
and a search of all that others may look at.

Handlers that say a secret themselves are among them: by logging and in an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
from azure.storage.blob import BlobServiceClient

from planted.conftest import World
from support.leaky_groups import SAID, the_groups, write
from support.planted import Planted
from support.tree import ROOT
from support.up_process import UpProcess, up_process
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, DEPLOYMENT, EVENT, POD, REPLICA_SET
from tidegate_operator.local.state import State

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

# The state of each group once it has said what is wrong with it.
WANTED = {
    "well": "Balanced",
    "tells": "Stuck",
    "letters": "Balanced",
    "raises": "Stuck",
    "opens": "PartitionsNotRead",
}
FAILING = (
    "wrong-key",
    "unreachable",
    "wrong-storage",
    "refused-sas",
    "broken",
    "aborts",
    "cosmos",
    "wrong-cosmos",
)


@pytest.fixture
def up(world: World, tmp_path: Path) -> Iterator[UpProcess]:
    """All groups under one `tidegate up`."""
    files = write(tmp_path, the_groups(world.blobs))
    with up_process(tmp_path, *files, **world.environment) as up:
        yield up


def test_no_secret_is_in_anything_that_others_may_look_at(
    world: World, up: UpProcess, tmp_path: Path
) -> None:
    planted = world.planted
    up.until("the API to be served", (up.state / "served.json").exists, 240)
    up.until("every group to have said how it is", lambda: have_spoken(up), 600)
    found = [
        *planted.found_in("the output of tidegate up", up.said),
        *in_logs(planted, up),
        *in_objects(planted, up),
        *in_commands(planted, up),
        *in_endpoints(planted, up),
        *in_processes(planted, up),
        *in_blobs(planted, world.storage),
        *planted.found_in_files(sorted(tmp_path.rglob("core*"))),
        *planted.found_in_files(sorted(ROOT.glob("core*"))),
    ]
    assert not found, "\n".join(found)


def objects(up: UpProcess, kind: Any) -> list[dict[str, Any]]:
    served = State(up.state).served()
    headers = {"Authorization": f"Bearer {served.token}"}
    with urlopen(Request(served.url + kind.list_path(), headers=headers), timeout=60) as answer:
        return list(json.load(answer)["items"])


def have_spoken(up: UpProcess) -> bool:
    states = {
        each["metadata"]["name"]: (each.get("status") or {}).get("state") or ""
        for each in objects(up, CONSUMER_GROUP)
    }
    settled = all(states.get(name) == state for name, state in WANTED.items())
    return settled and all(
        states.get(name) not in ("", "Balanced", None) for name in FAILING if name != "cosmos"
    )


def in_logs(planted: Planted, up: UpProcess) -> Iterator[str]:
    logs = sorted(up.state.glob("logs/*"))
    assert len(logs) >= len(WANTED)
    everything = "".join(path.read_text(errors="replace") for path in logs)
    # What is searched was really said.
    for words in SAID:
        assert words in everything, f"no log says '{words}'"
    yield from planted.found_in_files(logs)


def in_objects(planted: Planted, up: UpProcess) -> Iterator[str]:
    """All but the Secrets themselves."""
    for kind in (CONSUMER_GROUP, CONFIG_MAP, DEPLOYMENT, REPLICA_SET, POD, EVENT):
        try:
            found = objects(up, kind)
        except HTTPError as answer:
            assert answer.code == 404  # not served to people
            continue
        yield from planted.found_in(f"the {kind.plural}", json.dumps(found))


def in_commands(planted: Planted, up: UpProcess) -> Iterator[str]:
    for name in (*WANTED, *FAILING):
        for words in (("explain", name), ("partitions", name)):
            ran = up.ask(*words)
            yield from planted.found_in(" ".join(words), ran.stdout + ran.stderr)
    for output in ("", "--output=json", "--output=wide"):
        ran = up.ask("get", *filter(None, [output]))
        yield from planted.found_in(f"get {output}", ran.stdout + ran.stderr)


def in_endpoints(planted: Planted, up: UpProcess) -> Iterator[str]:
    """Of the operator and its console, and of every consumer."""
    ports = {
        address.laddr.port
        for process in (psutil.Process(up.process.pid), *up.processes())
        for address in process.net_connections("tcp")
        if address.status == psutil.CONN_LISTEN
    }
    answered = 0
    for port in sorted(ports):
        for path in ("/metrics", "/readyz", "/healthz", "/groups", "/", "/who"):
            try:
                with urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                    text, answered = answer.read(), answered + 1
            except HTTPError as refused:
                text = refused.read()
            except OSError:  # it speaks something else
                continue
            yield from planted.found_in(f"{path} at port {port}", text)
    assert answered > len(WANTED)


def in_processes(planted: Planted, up: UpProcess) -> Iterator[str]:
    """Arguments can be read by everybody on a machine; and no process leaves its memory behind."""
    for process in (psutil.Process(up.process.pid), *up.processes()):
        try:
            words, name = "\0".join(process.cmdline()), process.name()
            limits = Path(f"/proc/{process.pid}/limits").read_text()
        except (psutil.Error, OSError):  # ended meanwhile
            continue
        yield from planted.found_in(f"the arguments of {name}", words)
        limit = re.search(r"Max core file size\s+(\S+)", limits)
        if limit is None or limit[1] != "0":
            yield f"{name} may leave an image of its memory: {words[:200]!r}"


def in_blobs(planted: Planted, storage: str) -> Iterator[str]:
    """Ledgers, and dead letters with their errors and traces."""
    letters = 0
    with BlobServiceClient.from_connection_string(storage) as client:
        for container in client.list_containers():
            inside = client.get_container_client(container.name)
            for blob in inside.list_blobs(include=["metadata"]):
                letters += container.name == "letters"
                place = f"{container.name}/{blob.name}"
                yield from planted.found_in(f"the metadata of {place}", json.dumps(blob.metadata))
                yield from planted.found_in(place, inside.download_blob(blob.name).readall())
    assert letters, "no event was put aside"
