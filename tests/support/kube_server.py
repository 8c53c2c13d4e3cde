"""A server on loopback that answers as the Kubernetes API is told to, and keeps what it was asked.

Rules: it decides nothing; a test says each answer beforehand. Connections are kept open, as the
API server keeps them.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kubernetes.client import ApiClient, Configuration

from tidegate_operator.kube import Kube


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    verb: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    # As it was sent.
    text: bytes


@dataclass(slots=True)
class KubeServer:
    """Its answers, in order, and what it was asked."""

    port: int = 0
    answers: list[tuple[int, Any]] = field(default_factory=list)
    # What each answer has in its head besides, and its date; '' for that of now.
    headers: dict[str, str] = field(default_factory=dict)
    date: str = ""
    asked: list[Asked] = field(default_factory=list)
    most_at_once: int = 0
    under_way: int = 0
    # Requests wait for it, where a test wants several under way.
    gate: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, *, threads: int = 2, timeout_s: float = 5.0) -> Kube:
        settings = Configuration(host=f"http://127.0.0.1:{self.port}")
        settings.api_key["BearerToken"] = "bearer the-token"
        settings.retries = False
        settings.connection_pool_maxsize = threads
        return Kube(ApiClient(settings), threads=threads, timeout_s=timeout_s)


@contextlib.contextmanager
def kube_server() -> Iterator[KubeServer]:
    """One that listens while the block lasts."""
    told = KubeServer()
    told.gate.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(length)
            query = dict(parse_qsl(parts.query))
            body = json.loads(raw) if raw else None
            with told.lock:
                told.under_way += 1
                told.most_at_once = max(told.most_at_once, told.under_way)
                asked = Asked(self.command, parts.path, query, dict(self.headers), body, raw)
                told.asked.append(asked)
                status, said = told.answers.pop(0) if told.answers else (200, {})
            told.gate.wait()
            text = said if isinstance(said, bytes) else json.dumps(said).encode()
            with told.lock:
                told.under_way -= 1
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

        def date_time_string(self, timestamp: float | None = None) -> str:
            return told.date or super().date_time_string(timestamp)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        told.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
