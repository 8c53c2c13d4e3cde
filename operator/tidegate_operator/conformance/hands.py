"""What a run does to the cluster: objects of its own made and removed, pods and processes ended.

Rules: everything is done with the rights of the person who asks, by name. A process in a pod is
ended from within: `exec` is a stream, for which the official client has threads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from kubernetes import config, stream
from kubernetes.client import ApiClient, Configuration, CoreV1Api
from kubernetes.client.exceptions import ApiException

from tidegate_operator.conformance.options import LABEL
from tidegate_operator.kinds import (
    CONFIG_MAP,
    CONSUMER_GROUP,
    NETWORK_POLICY,
    POD,
    SECRET,
    SERVICE,
    Document,
    Kind,
)
from tidegate_operator.kube import Kube
from tidegate_operator.kube_errors import AlreadyThere, Denied, KubeError

# What a pod of our image runs: the child of tini.
_PROCESS = "int(open('/proc/1/task/1/children').read().split()[0])"
KILL = f"import os; os.kill({_PROCESS}, 9)"
# It goes on by itself, whatever becomes of the one who asked.
PAUSE = (
    f"import os, time; pid = {_PROCESS}; os.kill(pid, 19); print('stopped', flush=True); "
    "time.sleep({seconds}); os.kill(pid, 18)"
)
_REMOVED = (CONSUMER_GROUP, NETWORK_POLICY, POD, SERVICE, CONFIG_MAP)
_PAUSE_S, _GONE_S = 0.3, 60.0

_config: Any = config
_stream: Any = stream


class Hands:
    """See the module. All raise KubeError."""

    def __init__(self, kube: Kube, namespace: str, name: str, connect: Callable[[], Any]) -> None:
        self.kube = kube
        self.namespace = namespace
        self._label = f"{LABEL}={name}"
        self._connect = connect
        self._owner: list[Document] = []

    async def make(self, documents: Iterable[Document]) -> None:
        """A Secret belongs to the ConfigMap that was made before it, and goes with that: so nobody
        needs the right to list Secrets, which is the right to read them."""
        for document in documents:
            if document["kind"] == SECRET.name:
                document["metadata"]["ownerReferences"] = list(self._owner)
            try:
                made = await self.kube.create(document)
            except AlreadyThere as problem:
                raise Denied(
                    f"{problem} It is of another run: wait for its end, choose another --name, or "
                    "remove what it left with `tidegate conformance --tidy`."
                ) from problem
            if document["kind"] == CONFIG_MAP.name:
                reference = {"apiVersion": CONFIG_MAP.api_version, "kind": CONFIG_MAP.name}
                meta = made["metadata"]
                self._owner = [{**reference, "name": meta["name"], "uid": meta["uid"]}]

    async def ask(self, pod: str, port: int, verb: str, path: str, body: Any = None) -> Document:
        return await self.kube.through(self.namespace, pod, port, verb, path, body)

    async def delete_pod(self, namespace: str, name: str, *, is_forced: bool = False) -> None:
        found = await self.kube.get(POD, namespace, name)
        uid = found["metadata"]["uid"]
        await self.kube.delete(POD, namespace, name, uid=uid, grace_s=0 if is_forced else None)

    async def remove(self, kind: Kind, name: str) -> None:
        found = await self.kube.find(kind, self.namespace, name)
        if found is not None:
            await self.kube.delete(kind, self.namespace, name, uid=found["metadata"]["uid"])

    async def run(self, pod: str, container: str, program: str) -> None:
        """Begins a Python program in a pod; what it says is not waited for."""
        command = ["python", "-c", program]
        await asyncio.to_thread(self._begin, pod, container, command)

    def _begin(self, pod: str, container: str, command: list[str]) -> None:
        client = self._connect()
        try:
            opened = _stream.stream(
                CoreV1Api(client).connect_get_namespaced_pod_exec, pod, self.namespace,
                container=container, command=command, stderr=True, stdin=False, stdout=True,
                tty=False, _preload_content=False, _request_timeout=10,
            )  # fmt: skip
            # Until it has begun: it says a word, or ends, or is ended by what it does.
            opened.update(timeout=3)
            opened.close()
        except ApiException as problem:
            raise Denied(
                f"run a program in pod {self.namespace}/{pod}: {problem.status} {problem.reason}. "
                "It needs the right to create pods/exec."
            ) from problem
        finally:
            client.close()

    async def tidy(self) -> None:
        """Removes all objects of the run, the group first: its operator lets it go."""
        for kind in _REMOVED:
            for document in await self.kube.list(kind, self.namespace, labels=self._label):
                meta = document["metadata"]
                await self.kube.delete(kind, self.namespace, meta["name"], uid=meta["uid"])
            if kind == CONSUMER_GROUP:
                await self._until_none(kind)
        await self._until_none(POD)

    async def _until_none(self, kind: Kind) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GONE_S):
                while await self.kube.list(kind, self.namespace, labels=self._label):
                    await asyncio.sleep(_PAUSE_S)
                return
        raise KubeError(
            f"{kind.plural} of the run are still there after {_GONE_S:.0f} s: see why with "
            f"`kubectl -n {self.namespace} get {kind.plural} -l {self._label}`"
        )


def client_of(kubeconfig: str | None, context: str | None) -> Any:
    """A client of its own: `exec` changes the one that it is asked with."""
    settings = Configuration()
    if kubeconfig is None and context is None:
        _config.load_incluster_config(client_configuration=settings)
    else:
        _config.load_kube_config(kubeconfig, context, settings)
    return ApiClient(settings)
