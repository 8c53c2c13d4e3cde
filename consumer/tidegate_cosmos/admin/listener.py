"""The admin API of one server: who may use it, its routes, and its sockets."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tidegate_cosmos.admin.control import SCHEMAS
from tidegate_cosmos.admin.table import ROUTES
from tidegate_http import guard
from tidegate_http.http import HttpConnection
from tidegate_http.listener import HttpServer, Limits
from tidegate_http.messages import Problem, Request, Response
from tidegate_http.routes import respond

if TYPE_CHECKING:
    from tidegate_cosmos.server import CosmosServer


class Admin(HttpServer):
    """The admin API of one server. `start` listens."""

    def __init__(self, server: CosmosServer, host: str) -> None:
        super().__init__(
            lambda: HttpConnection(
                self._respond, time.time, lambda line: server.report(f"admin: {line}")
            ),
            Limits(),
        )
        self._served = server
        self._host = host

    def _respond(self, request: Request) -> Response:
        only_loopback = all(map(guard.is_loopback, self.addresses))
        try:
            guard.check(request, only_loopback=only_loopback, own_name=self._host)
        except Problem as problem:
            return problem.as_response()
        return respond(ROUTES, SCHEMAS, self._served, request, time.time())
