"""Looks at a cluster's objects over one connection, for tests that look often: a kubectl takes a
tenth of a second of the processor that everything here shares.

Rules: it only reads, with the official client and nothing of ours. Looking while one waits is done
a few times a second, so that it does not slow down what is waited for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import urllib3
from kubernetes import config
from kubernetes.client import ApiClient, Configuration
from kubernetes.client.exceptions import ApiException

from support.wait import wait_until

T = TypeVar("T")
# Without types.
_config: Any = config

Document = dict[str, Any]
LOOK_EVERY_S = 0.2
_PATHS = {
    "consumergroups": "/apis/tidegate.dev/v1alpha1",
    "deployments": "/apis/apps/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "pods": "/api/v1",
    "events": "/api/v1",
    "nodes": "/api/v1",
}


class NoAnswer(Exception):
    """The API server did not answer, or not with what was asked for."""


class ClusterApi:
    """See the module. All raise NoAnswer."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        configuration = Configuration()
        # Whether the API answers is what some of the tests ask.
        configuration.retries = False
        _config.load_kube_config(config_file=str(kubeconfig), client_configuration=configuration)
        self._client: Any = ApiClient(configuration)
        self.namespace = namespace

    def close(self) -> None:
        self._client.close()

    def get(self, kind: str, name: str) -> Document | None:
        """An object of the namespace; None where there is none."""
        return self._asked(f"{self._folder(kind)}/{name}")

    def there(self, kind: str, name: str) -> Document:
        """An object that must be there."""
        found = self.get(kind, name)
        assert found is not None, f"there is no {name} of {kind}"
        return found

    def list(self, kind: str, labels: str = "") -> list[Document]:
        """The objects of a kind in the namespace, or in the cluster where it has none."""
        found = self._asked(self._folder(kind), {"labelSelector": labels} if labels else {})
        return [] if found is None else list(found["items"])

    def _folder(self, kind: str) -> str:
        inside = "" if kind == "nodes" else f"/namespaces/{self.namespace}"
        return f"{_PATHS[kind]}{inside}/{kind}"

    def _asked(self, path: str, query: Mapping[str, str] | None = None) -> Document | None:
        url = self._client.configuration.host + path + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json"}
        self._client.update_params_for_auth(headers, [], ["BearerToken"], "", "GET", None)
        try:
            answer = self._client.call_api("GET", url, headers, _request_timeout=10)
            said: bytes = answer.read()
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as problem:
            raise NoAnswer(f"{path}: {problem}") from problem
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise NoAnswer(f"{path}: {answer.status} {said[:500]!r}")
        found: Document = json.loads(said)
        return found


def until(
    condition: Callable[[], T],
    seconds: float,
    what: str,
    detail: Callable[[], object] | None = None,
) -> T:
    """Waits for a condition of the cluster; gives its true value."""
    looks = _looks(condition)
    return wait_until(lambda: next(looks), seconds, what, detail)


def _looks(condition: Callable[[], T]) -> Iterator[T]:
    while True:
        yield condition()
        time.sleep(LOOK_EVERY_S)
