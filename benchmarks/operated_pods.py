"""Pods that nobody runs: each that a control plane makes is told to be ready, and becomes a member.

What happens to groups and their Deployments is remembered with its time, as the API's own watches
tell it.

Rules: written with the official client, over connections of their own; a watch that the API ends
is opened again where it ended.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes import config
from kubernetes.client import ApiClient, Configuration

from operated_ledgers import Ledgers

Document = dict[str, Any]
GROUPS = "/apis/tidegate.dev/v1alpha1/namespaces/{}/consumergroups"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
PODS = "/api/v1/namespaces/{}/pods"
LABEL = "tidegate.dev/group"
# Lives begin before now by this: the kubelet's times are whole seconds.
_BEGAN_S = 60.0
_AT_ONCE = 6
_config: Any = config


def at(moment: float) -> str:
    return datetime.fromtimestamp(int(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Kubelets:
    """See the module. Made by `kubelets`."""

    def __init__(self, kubeconfig: Path, namespace: str, ledgers: Ledgers) -> None:
        settings = Configuration()
        _config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
        settings.connection_pool_maxsize = _AT_ONCE + 4
        self._client: Any = ApiClient(settings)
        self._namespace = namespace
        self._ledgers = ledgers
        self._work = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="kubelet")
        self._stopped = threading.Event()
        self._seen: set[str] = set()
        self.news = threading.Condition()
        # The newest of each, when it came, and how often each was written.
        self.groups: dict[str, Document] = {}
        self.deployments: dict[str, Document] = {}
        self.pods: dict[str, Document] = {}
        self.failed: list[BaseException] = []
        # How long a pod takes to begin.
        self.start_s = 0.0

    # --- asking

    def ask(self, verb: str, path: str, body: Any = None, content: str = "json") -> Document:
        url = self._client.configuration.host + path.format(self._namespace)
        headers = {"Accept": "application/json", "Content-Type": f"application/{content}"}
        self._client.update_params_for_auth(headers, [], ["BearerToken"], "", verb, None)
        answer = self._client.call_api(verb, url, headers, body, _request_timeout=30)
        said: bytes = answer.read()
        assert 200 <= answer.status < 300, f"{verb} {path}: {answer.status} {said[:300]!r}"
        found: Document = json.loads(said)
        return found

    def change(self, path: str, changes: Document) -> Document:
        return self.ask("PATCH", path, changes, "merge-patch+json")

    def wait(self, condition: Callable[[], object], seconds: float, what: str) -> float:
        """Waits for what a watch tells; gives the time at which it was so."""
        with self.news:
            if not self.news.wait_for(lambda: self.failed or condition(), seconds):
                raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        if self.failed:
            raise self.failed[0]
        return time.monotonic()

    # --- pods

    def fail(self, pod: str) -> None:
        """Its container has ended, and the kubelet says so: nobody starts it again."""
        found = self.pods[pod]
        name = found["metadata"]["labels"][LABEL]
        group, now = self._ledgers.groups[name], time.time()
        self._ledgers.change(lambda: group.die(pod))
        self._ledgers.change(lambda: group.forget(pod), after_s=15.0)
        began = group.lives[pod].started_at
        ended = {"startedAt": at(began), "finishedAt": at(now), "exitCode": 137, "reason": "Error"}
        self._tell(pod, "Failed", {"terminated": ended}, is_ready=False)

    def _run(self, pod: Document) -> None:
        """A pod begins, and joins its group."""
        self._stopped.wait(self.start_s)
        metadata = pod["metadata"]
        name, began = metadata["name"], time.time() - _BEGAN_S
        self._tell(name, "Running", {"running": {"startedAt": at(began)}}, is_ready=True)
        group = self._ledgers.groups[metadata["labels"][LABEL]]
        self._ledgers.change(lambda: group.join(name, metadata["uid"], began + 1))

    def _tell(self, pod: str, phase: str, state: Document, *, is_ready: bool) -> None:
        container = {
            "name": "consumer", "image": "none", "imageID": "", "ready": is_ready,
            "restartCount": 0, "state": state,
        }  # fmt: skip
        conditions = [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": str(is_ready)},
        ]
        status = {"phase": phase, "conditions": conditions, "containerStatuses": [container]}
        self.change(f"{PODS}/{pod}/status", {"status": status})

    # --- watching

    def _watch(self, path: str, into: dict[str, Document]) -> None:
        version = "0"
        while not self._stopped.is_set():
            query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "600"}
            url = f"{self._client.configuration.host}{path.format(self._namespace)}"
            headers = {"Accept": "application/json"}
            self._client.update_params_for_auth(headers, [], ["BearerToken"], "", "GET", None)
            answer = self._client.rest_client.pool_manager.request(
                "GET", f"{url}?{urlencode(query)}", headers=headers, preload_content=False
            )
            for event in _lines(answer):
                version = event["object"]["metadata"]["resourceVersion"]
                self._hear(event, into)
                if self._stopped.is_set():
                    return

    def _hear(self, event: Document, into: dict[str, Document]) -> None:
        found = event["object"]
        name = found["metadata"]["name"]
        with self.news:
            if event["type"] == "DELETED":
                into.pop(name, None)
            else:
                into[name] = found
            self.news.notify_all()
        if into is not self.pods:
            return
        if event["type"] == "DELETED":
            group = self._ledgers.groups[found["metadata"]["labels"][LABEL]]
            self._ledgers.change(lambda: group.forget(name))
        elif name not in self._seen:
            self._seen.add(name)
            self._work.submit(self._safely, lambda: self._run(found))

    def _safely(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as problem:
            if not self._stopped.is_set():
                self.failed.append(problem)
                with self.news:
                    self.news.notify_all()

    def start(self) -> None:
        for path, into in (
            (GROUPS, self.groups), (DEPLOYMENTS, self.deployments), (PODS, self.pods),
        ):  # fmt: skip
            threading.Thread(
                target=self._safely, args=(lambda path=path, into=into: self._watch(path, into),),
                daemon=True, name=f"watch of {path}",
            ).start()  # fmt: skip

    def stop(self) -> None:
        self._stopped.set()
        self._work.shutdown(cancel_futures=True)
        self._client.close()


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[Document]:
    left = b""
    for part in answer.stream(1 << 16):
        *lines, left = (left + part).split(b"\n")
        yield from (json.loads(line) for line in lines if line)


@contextmanager
def kubelets(kubeconfig: Path, namespace: str, ledgers: Ledgers) -> Iterator[Kubelets]:
    """Until the block ends."""
    found = Kubelets(kubeconfig, namespace, ledgers)
    found.start()
    try:
        yield found
    finally:
        found.stop()
