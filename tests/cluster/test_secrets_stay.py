"""No secret is ever seen in a cluster: planted keys, groups that fail, and a search of all that
whoever may list objects and read logs can look at, and of the arguments of all processes.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from support.cluster_manifests import HUB, config_map, container, deployment, service
from support.cluster_release import KIND, NAME, PLURAL, Release, event_hubs, ledger
from support.leaky_groups import HANDLERS, PRINTS, SAID
from support.planted import Planted, new_key
from support.wait import wait_until

pytestmark = pytest.mark.timeout(400)

SECRET = "planted"
KEYS = ("hub", "another hub", "storage")
# Everything but Secrets; and what groups are made of.
LOOKED_AT = f"{KIND},pods,deployments,replicasets,configmaps,services,serviceaccounts,events"
# Nobody keeps a handler from printing its key: that it is found shows that the search works.
PRINTING = "leaky-prints"
# Of each group: how it is to end up, by the reason of Ready or of Stuck.
WANTED = {
    "leaky-tells": "Stuck",
    "leaky-raises": "Stuck",
    "leaky-letters": "Ready",
    "leaky-opens": "PartitionsNotRead",
    PRINTING: "Ready",
    "leaky-broken": "HandlerNotImported",
    "leaky-key": "HubDenied",
    "leaky-far": "HubUnreachable",
    "leaky-storage": "LedgerDenied",
}
STRICT = "strict-planted"
LETTERS = "leaky-letters-aside"
WORDS = (*SAID, "my key is", f"is at {LETTERS}/")
# Of every process in a pod: its arguments, and how large an image of its memory may be.
PROCESSES = """
import json, os, pathlib, re
found = []
for path in pathlib.Path("/proc").glob("[0-9]*"):
    if int(path.name) == os.getpid():
        continue
    try:
        words = (path / "cmdline").read_bytes().replace(bytes(1), b" ").decode()
        limit = re.search(r"Max core file size +(\\S+)", (path / "limits").read_text())[1]
        limit += " " + (path / "coredump_filter").read_text().strip()
    except OSError:
        continue
    found.append([words, limit])
print(json.dumps(found))
"""


@pytest.fixture
def planted(release: Release) -> Iterator[Planted]:
    """The groups; those that read a hub have the release's, which looks at no key."""
    keys = {f"key of {name}": new_key() for name in KEYS}
    hub, another, storage = keys.values()
    events = release.secret("events")
    before = events.partition("SharedAccessKey=")[2].partition(";")[0]
    reached = release.secret("storage")
    account = reached.partition("AccountKey=")[2].partition(";")[0]
    kubectl = release.inside
    values = {
        "events": events.replace(before, hub),
        "wrong": events.replace(before, another).replace("tidegate-hub.", f"{STRICT}."),
        "far": events.replace(before, another).replace(":5672", ":1"),
        "storage": reached.replace(account, storage),
    }
    kubectl.said(
        "create",
        "secret",
        "generic",
        SECRET,
        *(f"--from-literal={name}={value}" for name, value in values.items()),
    )
    arguments = ["hub", "--host", "0.0.0.0", "--hub", "leaky:4", "--check-sas"]
    kubectl.apply(deployment(STRICT, container(HUB, args=arguments)), service(STRICT, 5672))
    kubectl.wait_until_ready(STRICT)
    kubectl.apply(config_map("leaky", HANDLERS), *the_groups())
    for hub in ("tells", "raises", "leaky", "prints"):
        release.send(hub, 100)
    try:
        yield Planted(keys)
    finally:
        kubectl.tried("delete", PLURAL, *WANTED, "--wait=false")
        of_ours = ("secret/planted", "configmap/leaky", f"deployment/{STRICT}", f"service/{STRICT}")
        kubectl.tried("delete", *of_ours, "--wait=false")


def the_groups() -> list[dict[str, Any]]:
    def of(key: str) -> dict[str, str]:
        return {"secret": SECRET, "key": key}

    def group(
        name: str,
        hub: str = "leaky",
        events: str = "events",
        handler: str = "well",
        meets: Any = None,
        **more: Any,
    ) -> dict[str, Any]:
        source = event_hubs(hub, connectionString=of(events))
        return {
            "apiVersion": "tidegate.dev/v1alpha1",
            "kind": "ConsumerGroup",
            "metadata": {"name": name},
            "spec": {
                "source": source,
                "ledger": meets or ledger(name),
                "handler": {"configMap": "leaky", "code": f"{handler}.py:handle"},
                **more,
            },
        }

    letters = {
        "onFailure": "deadLetter",
        "attempts": 1,
        "backoff": {"firstSeconds": 0.1},
        "deadLetters": {"blob": {"container": LETTERS}},
    }
    return [
        group("leaky-tells", "tells", handler="tells"),
        group("leaky-raises", "raises", handler="raises"),
        group("leaky-letters", handler="tells", delivery=letters),
        group("leaky-opens", "opens", handler="opens"),
        group(PRINTING, "prints", handler=PRINTS),
        group("leaky-broken", handler="broken"),
        group("leaky-key", events="wrong"),
        group("leaky-far", events="far"),
        group("leaky-storage", meets=ledger("leaky-storage", connectionString=of("storage"))),
    ]


def reasons(release: Release) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name in WANTED:
        group = release.api.get(PLURAL, name) or {}
        conditions = (group.get("status") or {}).get("conditions", ())
        found[name] = {
            each["reason"] if each["type"] == "Ready" else each["type"]
            for each in conditions
            if each["status"] == ("False" if each["type"] == "Ready" else "True")
        }
        found[name] |= {"Ready"} if is_ready(conditions) else set()
    return found


def logs_with(wanted: Sequence[str], release: Release, pods: Sequence[str]) -> dict[str, str]:
    """All logs, by pod; none while not all of these words are in them."""
    tried = release.inside.tried
    found = {pod: tried("logs", pod).stdout for pod in pods}
    found |= {f"{pod}, before": tried("logs", pod, "--previous").stdout for pod in pods}
    everything = "".join(found.values())
    return found if all(words in everything for words in wanted) else {}


def is_ready(conditions: Any) -> bool:
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def in_blobs(planted: Planted, release: Release) -> list[str]:
    """Ledgers, and the dead letters with their errors and traces."""
    found: list[str] = []
    letters = 0
    with release.storage() as storage, BlobServiceClient.from_connection_string(storage) as client:
        for container in (LETTERS, *WANTED):
            inside = client.get_container_client(container)
            if not inside.exists():
                continue
            for blob in inside.list_blobs(include=["metadata"]):
                letters += container == LETTERS
                place = f"{container}/{blob.name}"
                found += planted.found_in(f"the metadata of {place}", json.dumps(blob.metadata))
                content = inside.download_blob(blob.name).readall()
                found += planted.found_in(place, content)
    assert letters, "no event was put aside"
    return found


def test_no_secret_is_in_anything_that_a_cluster_shows(release: Release, planted: Planted) -> None:
    def have_spoken() -> bool:
        said = reasons(release)
        return all(reason in said[name] for name, reason in WANTED.items())

    wait_until(have_spoken, 150, "every group to have said how it is", lambda: reasons(release))
    kubectl = release.inside
    found = planted.found_in("what the API lists", json.dumps(kubectl.read(LOOKED_AT)))
    pods = [pod["metadata"]["name"] for pod in kubectl.read("pods")["items"]]
    logs = wait_until(lambda: logs_with(WORDS, release, pods), 60, f"all of {WORDS} to be in logs")
    for pod, log in logs.items():
        found += planted.found_in(f"the log of {pod}", log)
    for name in WANTED:
        for asked in (["get", "cg", name, "--output", "yaml"], ["describe", "cg", name]):
            found += planted.found_in(" ".join(asked), kubectl.tried(*asked).stdout)
    described = kubectl.said("describe", "pods,deployments,configmaps,services")
    found += planted.found_in("what is described", described)
    for operator in release.operators():
        with kubectl.forwarded(f"pod/{operator}", 8080) as port:
            found += in_endpoints(planted, port)
    found += in_pods(planted, release, pods)
    found += in_blobs(planted, release)
    printed = {each for each in found if each.startswith(f"the log of {PRINTING}-")}
    assert any("holds the key of hub, as it is" in each for each in printed), printed
    assert set(found) == printed, "\n".join(found)


def in_endpoints(planted: Planted, port: int) -> list[str]:
    found: list[str] = []
    for path in ("/metrics", "/readyz", "/groups"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status < 500, path
        found += planted.found_in(f"the operator's {path}", answer.read())
        connection.close()
    return found


def in_pods(planted: Planted, release: Release, pods: list[str]) -> list[str]:
    """Arguments, and whether an image of the memory would be left."""
    found: list[str] = []
    looked = 0
    for pod in pods:
        if not pod.startswith(("leaky-", f"{NAME}-operator")):
            continue
        ran = release.inside.tried("exec", pod, "--", "python", "-c", PROCESSES)
        if ran.returncode != 0:  # it does not run just now
            continue
        looked += 1
        for words, limit in json.loads(ran.stdout):
            found += planted.found_in(f"the arguments in {pod}", words)
            if "python" in words and limit != "0 00000000":
                found.append(f"{pod} may leave an image of its memory: {words[:80]}")
    assert looked > 1
    return found
