"""The admin API of one hub server: who may use it, its routes, and its sockets."""

from __future__ import annotations

import time

from tidegate_http import guard
from tidegate_http.http import HttpConnection
from tidegate_http.listener import HttpServer, Limits
from tidegate_http.messages import Problem, Request, Response
from tidegate_http.routes import respond
from tidegate_hub.admin.control import HubControl
from tidegate_hub.admin.schemas import SCHEMAS
from tidegate_hub.admin.table import ROUTES
from tidegate_hub.storage.errors import StorageError, StorageFull


class Admin(HttpServer):
    """The admin API of one hub server. Made by `start_for`."""

    def __init__(self, hub: HubControl, host: str, limits: Limits) -> None:
        super().__init__(
            lambda: HttpConnection(
                self._respond, time.time, lambda line: hub.broker.report(f"admin: {line}")
            ),
            limits,
        )
        self._hub = hub
        self._host = host

    @classmethod
    async def start_for(
        cls, hub: HubControl, host: str, port: int, limits: Limits | None = None
    ) -> Admin:
        """Listens. Raises OSError."""
        admin = cls(hub, host, limits or Limits())
        await admin.start(host, port)
        return admin

    def _respond(self, request: Request) -> Response:
        only_loopback = all(map(guard.is_loopback, self.addresses))
        try:
            guard.check(request, only_loopback=only_loopback, own_name=self._host)
        except Problem as problem:
            return problem.as_response()
        return answered(self._hub, request, time.time())


def answered(hub: HubControl, request: Request, now: float) -> Response:
    """Carries a request out, or says why not."""
    try:
        return respond(ROUTES, SCHEMAS, hub, request, now)
    except StorageError as error:
        status = 507 if isinstance(error, StorageFull) else 500
        return Problem(status, str(error)).as_response()
