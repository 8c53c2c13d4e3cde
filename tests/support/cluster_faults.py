"""What is done to processes, pods and nodes of a cluster, as no command for people does it.

Rules: processes in pods are ended from within their pod. What is done to a node is done by a pod of
ours that stands on it with the node's own rights, in a namespace of its own; a kubelet that is
stopped is started again by the node itself, whatever becomes of the test.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import TIDEGATE

# What a pod of our image runs: the child of tini.
_PROCESS = "int(open('/proc/1/task/1/children').read().split()[0])"
_KILL = f"import os; os.kill({_PROCESS}, 9)"
# As soon as the process is asked to end it is killed instead: it is stopped, so that it cannot
# begin to. SIGTERM is the 15th bit of what waits for it.
_KILL_WHEN_ASKED = f"""
import os, time
pid = {_PROCESS}
os.kill(pid, 19)
print("stopped", flush=True)
while True:
    lines = open(f"/proc/{{pid}}/status").read().splitlines()
    waiting = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd"))]
    if any(mask >> 14 & 1 for mask in waiting):
        os.kill(pid, 9)
        break
    time.sleep(0.01)
"""
# Stopped for so long, whatever becomes of who asked for it.
_PAUSE = f"""
import os, sys, time
pid = {_PROCESS}
os.kill(pid, 19)
print("stopped", flush=True)
time.sleep(float(sys.argv[1]))
os.kill(pid, 18)
"""
# Programs that want all the time that the container may have, and end by themselves.
_STARVE = """
import subprocess, sys
seconds, count = sys.argv[1:]
program = "import sys, time; end = time.monotonic() + float(sys.argv[1])" + chr(10)
program += "while time.monotonic() < end: pass"
started = [subprocess.Popen([sys.executable, "-c", program, seconds]) for _ in range(int(count))]
print("starving", flush=True)
for each in started:
    each.wait()
"""
# The node's kubelet starts it again.
KILL_API_SERVER = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
    if any(word.rpartition(b"/")[2] == b"kube-apiserver" for word in words[:2]):
        os.kill(int(pid), 9)
        print("killed", pid)
"""
# The consumer of a pod, on its node, is killed so long after the kubelet was stopped.
_KUBELET = """
import os, subprocess, time
on_node = ["nsenter", "--target", "1", "--all", "--"]
later = ["systemd-run", "--on-active={seconds}s", "systemctl", "start", "kubelet"]
subprocess.run([*on_node, *later], check=True)
subprocess.run([*on_node, "systemctl", "stop", "kubelet"], check=True)
time.sleep({kill_after})
wanted = b"TIDEGATE_MEMBER={member}"
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        environment = open(f"/proc/{{pid}}/environ", "rb").read().split(b"\\0")
        name = open(f"/proc/{{pid}}/comm").read().strip()
    except FileNotFoundError:
        continue
    if wanted in environment and name != "tini":
        os.kill(int(pid), 9)
        print("killed", pid, name)
"""


def kill_process(kubectl: Kubectl, pod: str) -> None:
    """SIGKILL to the process; its container is started again in its place.

    That ends the killing program too, so its exit code says nothing; the container's restart does.
    """
    kubectl.tried("exec", pod, "--", "python", "-c", _KILL)


def delete_and_kill(kubectl: Kubectl, pod: str) -> None:
    """Deletes a pod whose consumer is killed before it can hand anything over."""
    with kubectl.speaking("exec", pod, "--", "python", "-c", _KILL_WHEN_ASKED) as lines:
        assert next(lines).strip() == "stopped"
        kubectl.said("delete", "pod", pod, "--wait=false")


@contextlib.contextmanager
def paused_process(kubectl: Kubectl, pod: str, seconds: float) -> Iterator[None]:
    """The consumer of a pod is stopped for so long; the block ends when it goes on."""
    with kubectl.speaking("exec", pod, "--", "python", "-c", _PAUSE, str(seconds)) as lines:
        assert next(lines).strip() == "stopped"
        yield
        # Until then: the end of what it says.
        assert list(lines) == []


@contextlib.contextmanager
def starved_process(kubectl: Kubectl, pod: str, seconds: float, hogs: int) -> Iterator[None]:
    """So many others want what the container of a pod may have of the processor."""
    words = (str(seconds), str(hogs))
    with kubectl.speaking("exec", pod, "--", "python", "-c", _STARVE, *words) as lines:
        assert next(lines).strip() == "starving"
        yield
        assert list(lines) == []


def evict(kubectl: Kubectl, pod: str) -> None:
    """As a drain of its node does it; a budget may refuse it."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": kubectl.namespace},
    }
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/{pod}/eviction"
    kubectl.said("create", "--raw", path, "--filename", "-", stdin=json.dumps(eviction))


def without_kubelet(*, seconds: int, kill_after: int, member: str) -> str:
    """Stops the kubelet of a node for so long, and meanwhile kills the consumer of a pod there."""
    return _KUBELET.format(seconds=seconds, kill_after=kill_after, member=member)


class NodeHand:
    """Runs programs on a node, with its rights. Made by `node_hand`."""

    def __init__(self, kubectl: Kubectl, node: str) -> None:
        self._kubectl = kubectl
        self.node = node
        self._count = 0

    def run(self, program: str) -> str:
        """Starts a Python program in the node's process namespace; gives its pod's name."""
        self._count += 1
        name = f"hand-{self._count}"
        self._kubectl.apply(_hand(name, self.node, program))
        return name

    def until_ended(self, name: str, seconds: float) -> str:
        """What it printed; it must have gone well."""
        ended = self._kubectl.until_ended(name, seconds)
        said = self._kubectl.log(name)
        assert ended["exitCode"] == 0, said
        return said


@contextlib.contextmanager
def node_hand(cluster: Kubectl, node: str) -> Iterator[NodeHand]:
    """A namespace in which everything is allowed, for as long as the block lasts."""
    with cluster.new_namespace("hand", "privileged") as inside:
        yield NodeHand(inside, node)


def _hand(name: str, node: str, program: str) -> dict[str, object]:
    container = {
        "name": "main",
        "image": TIDEGATE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", program],
        "securityContext": {"privileged": True, "runAsUser": 0, "runAsGroup": 0},
    }
    spec = {
        "nodeName": node,
        "hostPID": True,
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
