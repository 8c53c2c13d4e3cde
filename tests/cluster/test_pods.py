"""What a pod of ours can count on in a cluster, and what it is kept from."""

from __future__ import annotations

import time

import pytest

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import container, deployment, pod, python, service
from support.wait import wait_until

KILLED = 128 + 9
# A program that takes its time to end when it is told to, and says that it was told.
ENDS_WHEN_TOLD = """
import signal, sys, time
def told(*_):
    print("told to end", flush=True)
    time.sleep(2)
    print("ended by itself", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, told)
print("running", flush=True)
while True:
    time.sleep(1)
"""
NEVER_ENDS = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("running", flush=True)
while True:
    time.sleep(1)
"""
ASKS_THE_API = """
import json, ssl, sys, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
trusted = ssl.create_default_context(cafile=f"{folder}/ca.crt")
namespace = open(f"{folder}/namespace").read()
for what in ("configmaps", "secrets"):
    request = urllib.request.Request(
        f"https://kubernetes.default.svc/api/v1/namespaces/{namespace}/{what}",
        headers={"Authorization": "Bearer " + open(f"{folder}/token").read()},
    )
    try:
        print(what, urllib.request.urlopen(request, context=trusted, timeout=10).status)
    except urllib.error.HTTPError as refused:
        print(what, refused.code)
"""
SERVES_ITS_NAME = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["NODE"].encode())
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
"""
# A node's proxy hears of a new pod a moment after the API server does.
ASKS_BY_NAME = """
import os, time, urllib.error, urllib.request
wanted, seen, until = int(os.environ["WANTED"]), set(), time.monotonic() + 30
while len(seen) < wanted and time.monotonic() < until:
    try:
        seen.add(urllib.request.urlopen("http://names:8000/", timeout=5).read().decode())
    except urllib.error.URLError as refused:  # this node's proxy has not heard of the pods yet
        if not isinstance(refused.reason, ConnectionRefusedError):
            raise
print(sorted(seen))
"""


def until_logged(inside: Kubectl, name: str, text: str) -> None:
    wait_until(lambda: text in inside.tried("logs", name).stdout, 60, f"{name} to say {text!r}")


def test_a_pod_that_outgrows_its_memory_is_ended_for_that(inside: Kubectl) -> None:
    """By the code of its end. The reason is `OOMKilled` only where containerd hears of the kill
    before it hears of the end: on a busy node it may be `Error`."""
    takes_128_mb = "held = [bytes([number]) * (1 << 20) for number in range(128)]"
    inside.apply(
        pod("greedy", python(takes_128_mb, memory="64Mi")),
        pod("modest", python(takes_128_mb, memory="256Mi")),
    )
    assert inside.until_ended("greedy")["exitCode"] == KILLED
    assert inside.until_ended("modest")["exitCode"] == 0


def test_a_pod_is_told_to_end_and_has_its_grace(inside: Kubectl) -> None:
    inside.apply(pod("polite", python(ENDS_WHEN_TOLD)))
    until_logged(inside, "polite", "running")
    with inside.followed("polite") as read_to_the_end:
        inside.said("delete", "pod", "polite", "--timeout=40s")
        assert read_to_the_end().split("\n")[1:] == ["told to end", "ended by itself", ""]


def test_a_pod_that_does_not_end_is_killed_when_its_grace_is_over(inside: Kubectl) -> None:
    inside.apply(pod("stubborn", python(NEVER_ENDS), terminationGracePeriodSeconds=2))
    until_logged(inside, "stubborn", "running")
    begun = time.monotonic()
    inside.said("delete", "pod", "stubborn", "--timeout=40s")
    assert 2 <= time.monotonic() - begun < 30


def test_a_pod_asks_the_api_by_its_service_account_for_what_it_may(inside: Kubectl) -> None:
    inside.said("create", "serviceaccount", "reader")
    inside.said("create", "role", "reading", "--verb=list", "--resource=configmaps")
    account = f"--serviceaccount={inside.namespace}:reader"
    inside.said("create", "rolebinding", "reading", "--role=reading", account)
    asks = pod(
        "asks", python(ASKS_THE_API), serviceAccountName="reader", automountServiceAccountToken=True
    )
    inside.apply(asks)
    assert inside.until_ended("asks")["exitCode"] == 0, inside.log("asks")
    assert inside.log("asks").splitlines() == ["configmaps 200", "secrets 403"]


def test_what_a_pod_wrote_to_a_claim_is_there_for_the_next(inside: Kubectl) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "kept"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "16Mi"}},
        },
    }
    volumes = [{"name": "kept", "persistentVolumeClaim": {"claimName": "kept"}}]
    mounts = [{"name": "kept", "mountPath": "/kept"}]
    writes = python("open('/kept/word', 'w').write('tide')", volumeMounts=mounts)
    reads = python("print(open('/kept/word').read())", volumeMounts=mounts)
    inside.apply(claim, pod("writes", writes, volumes=volumes))
    assert inside.until_ended("writes")["exitCode"] == 0, inside.log("writes")
    inside.apply(pod("reads", reads, volumes=volumes))
    assert inside.until_ended("reads")["exitCode"] == 0, inside.log("reads")
    assert inside.log("reads") == "tide\n"


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"privileged": True}, "privileged"),
        ({"allowPrivilegeEscalation": True}, "allowPrivilegeEscalation"),
        ({"runAsUser": 0}, "runAsUser"),
    ],
)
def test_a_pod_that_asks_for_more_than_the_restricted_profile_is_refused(
    inside: Kubectl, asked: dict[str, object], named: str
) -> None:
    asks = container()
    asks["securityContext"] = {**asks["securityContext"], **asked}
    if "privileged" in asked:  # these two contradict each other before the profile is asked
        asks["securityContext"]["allowPrivilegeEscalation"] = True
    name = f"asks-{named.lower()}"
    inside.apply(deployment(name, asks))
    wait_until(
        lambda: named in inside.said("get", "events", "--field-selector", "reason=FailedCreate"),
        30,
        f"the refusal of {named}",
    )
    assert inside.read("pods", "--selector", f"app={name}")["items"] == []


def test_the_root_file_system_cannot_be_written_to(inside: Kubectl) -> None:
    inside.apply(pod("writer", python("open('/opt/tidegate/mine', 'w')")))
    assert inside.until_ended("writer")["exitCode"] == 1
    assert "Read-only file system" in inside.log("writer")


def test_pods_find_each_other_by_the_name_of_a_service_on_every_node(inside: Kubectl) -> None:
    nodes = [node["metadata"]["name"] for node in inside.read("nodes")["items"]]
    everywhere = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "names"}},
            }
        ],
        "tolerations": [{"operator": "Exists"}],
    }
    where = [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    serves = python(
        SERVES_ITS_NAME, env=where, readinessProbe={"tcpSocket": {"port": 8000}, "periodSeconds": 1}
    )
    inside.apply(deployment("names", serves, len(nodes), **everywhere), service("names", 8000))
    inside.wait_until_ready("names")
    for node in nodes:
        asks = f"asks-from-{node}"
        wanted = [{"name": "WANTED", "value": str(len(nodes))}]
        inside.apply(pod(asks, python(ASKS_BY_NAME, env=wanted), nodeName=node))
        assert inside.until_ended(asks)["exitCode"] == 0, inside.log(asks)
        assert inside.log(asks).strip() == str(sorted(nodes))
