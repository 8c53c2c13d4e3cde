"""A Kubernetes API on loopback that keeps objects: it gives, lists and patches them, as far as the
kubectl plugin needs it, and refuses what it is told to.

Rules: no schema and no rights of its own; each write gives the object a new resourceVersion, and a
patch of another one than stands there is a conflict, as in the API server.
"""

from __future__ import annotations

import contextlib
import copy
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Document = dict[str, Any]
Answer = tuple[int, Document]

_LISTS = ("consumergroups", "leases", "pods")


@dataclass(slots=True)
class PluginApi:
    """The objects, by their paths, and what is refused."""

    port: int = 0
    objects: dict[str, Document] = field(default_factory=dict)
    # 'get /path': what is forbidden, and in what words.
    forbidden: dict[str, str] = field(default_factory=dict)
    # Whether the CustomResourceDefinition is there.
    has_kind: bool = True
    patches: list[Document] = field(default_factory=list)
    # Who wrote each patch, as it says itself.
    managers: list[str] = field(default_factory=list)
    # Called before a patch is carried out: what somebody else does meanwhile.
    before_patch: Callable[[], None] | None = None
    writes: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def put(self, path: str, document: Document) -> Document:
        """The object stands there; a write, as any other."""
        with self.lock:
            self.writes += 1
            kept = copy.deepcopy(document)
            kept["metadata"]["resourceVersion"] = str(self.writes)
            self.objects[path] = kept
            return kept

    def put_group(self, document: Document) -> None:
        meta = document["metadata"]
        self.put(group_path(meta["namespace"], meta["name"]), document)

    def kubeconfig(self, folder: Path, namespace: str) -> Path:
        """A kubeconfig whose context is here, in this namespace."""
        path = folder / "kubeconfig"
        context = {"cluster": "fake", "user": "somebody", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "somebody", "user": {"token": "a-token"}}],
            "contexts": [
                {"name": "here", "context": context},
                {"name": "there", "context": {**context, "namespace": "elsewhere"}},
            ],
            "current-context": "here",
        }
        path.write_text(json.dumps(config), encoding="utf-8")
        return path

    def answer(self, verb: str, path: str, query: dict[str, str], body: Any) -> Answer:
        with self.lock:
            if not self.has_kind and path.startswith("/apis/tidegate.dev/"):
                return _refusal(404, "NotFound", "404 page not found")
            refused = self.forbidden.get(f"{verb.lower()} {path}")
            if refused is not None:
                return _refusal(403, "Forbidden", refused)
            if verb == "PATCH":
                self.managers.append(query.get("fieldManager", ""))
                return self._patch(path, body)
            if path in self.objects:
                return 200, self.objects[path]
            if path.rpartition("/")[2] in _LISTS:
                return 200, self._list(path, query.get("labelSelector", ""))
            return _refusal(404, "NotFound", "not found", name=path.rpartition("/")[2])

    def _list(self, path: str, labels: str) -> Document:
        """Of a namespace, or, where the path names none, of all; `labels` is one, or none."""
        root, _, plural = path.rpartition("/")
        found = [
            each
            for place, each in sorted(self.objects.items())
            if place.rpartition("/")[0].endswith(f"/{plural}") and place.startswith(f"{root}/")
        ]
        if labels:
            key, _, value = labels.partition("=")
            found = [each for each in found if each["metadata"]["labels"].get(key) == value]
        return {"kind": "List", "metadata": {}, "items": found}

    def _patch(self, path: str, body: Document) -> Answer:
        if self.before_patch is not None:
            meanwhile, self.before_patch = self.before_patch, None
            meanwhile()
        stands = self.objects.get(path)
        if stands is None:
            return _refusal(404, "NotFound", "not found", name=path.rpartition("/")[2])
        version = (body.get("metadata") or {}).get("resourceVersion")
        if version not in (None, stands["metadata"]["resourceVersion"]):
            return _refusal(409, "Conflict", "the object has been modified")
        self.patches.append(body)
        return 200, self.put(path, merged(stands, body))


def group_path(namespace: str, name: str) -> str:
    return f"/apis/tidegate.dev/v1alpha1/namespaces/{namespace}/consumergroups/{name}"


def merged(document: Any, changes: Any) -> Any:
    """A JSON merge patch, carried out."""
    if not isinstance(changes, dict):
        return changes
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _refusal(status: int, reason: str, message: str, name: str = "") -> Answer:
    details = {"name": name} if name else {}
    return status, {
        "kind": "Status", "status": "Failure", "reason": reason, "message": message,
        "details": details, "code": status,
    }  # fmt: skip


@contextlib.contextmanager
def plugin_api() -> Iterator[PluginApi]:
    """One that listens while the block lasts."""
    kept = PluginApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            body = json.loads(raw) if raw else None
            parts = urlsplit(self.path)
            status, said = kept.answer(self.command, parts.path, dict(parse_qsl(parts.query)), body)
            text = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_PATCH = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
