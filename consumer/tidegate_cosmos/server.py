"""A running server: its sockets, its clock, its salt. The edge around `service`."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from tidegate_cosmos.fault_json import check_places, from_json
from tidegate_cosmos.faults import Fault
from tidegate_cosmos.journal import Journal, JournalError
from tidegate_cosmos.options import Options
from tidegate_cosmos.rest.signing import key_bytes
from tidegate_cosmos.service import Service
from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.keys import KeyProblem
from tidegate_cosmos.store.problems import StoreProblem
from tidegate_cosmos.store.ranges import Range
from tidegate_http.http import HttpConnection
from tidegate_http.listener import HttpServer, Limits
from tidegate_http.listening import listening_problem
from tidegate_http.messages import Request, Response

_FLUSH_S = 1.0
_LIMITS = Limits(request_s=30.0, idle_s=300.0, write_s=60.0, connections=5_000)
_BODY_LIMIT = 4 * 1024 * 1024
_HEADER_LIMIT = 256 * 1024


class StartError(Exception):
    """The server cannot start; the message says why and what to do."""


class CosmosServer:
    """One server. `report` takes lines for the people who run it."""

    def __init__(self, options: Options, report: Callable[[str], None]) -> None:
        try:
            key = key_bytes(options.key) if options.is_checked else None
        except ValueError as error:
            raise StartError(f"--key-value: {error}.") from None
        account = Account(salt=secrets.randbits(16), ranges=options.ranges)
        self.options = options
        self.report = report
        self.service = Service(account, key, time.time)
        self.port = options.port
        self.admin_port = options.admin_port
        self._http = HttpServer(self._new_connection, _LIMITS)
        self._admin: HttpServer | None = None
        self._journal: Journal | None = None
        self._flushing: asyncio.Task[None] | None = None

    @property
    def endpoint(self) -> str:
        """What clients connect to."""
        host = "localhost" if self.options.host in ("127.0.0.1", "0.0.0.0") else self.options.host
        return f"http://{host}:{self.port}/"

    @property
    def connection_string(self) -> str:
        return f"AccountEndpoint={self.endpoint};AccountKey={self.options.key};"

    async def start(self) -> None:
        """Reads what was kept, makes what was declared, and listens. Raises StartError."""
        self._open()
        for spec in self.options.containers:
            try:
                self.add_container(spec.database, spec.name, spec.key_path, ranges=spec.ranges)
            except (StoreProblem, KeyProblem) as problem:
                raise StartError(f"container {spec.database}/{spec.name}: {problem}") from problem
        self.port = await self._listen(self._http, self.options.host, self.options.port)
        self.service.endpoint = self.endpoint
        if self.options.admin_port is not None:
            await self._start_admin(self.options.admin_host, self.options.admin_port)
        if self._journal is not None:
            self._flushing = asyncio.create_task(self._flush_for_ever())

    def _open(self) -> None:
        """Reads what was kept. Raises StartError."""
        if self.options.data_directory is None:
            return
        account = self.service.account
        try:
            self._journal = Journal.opened(self.options.data_directory, account, self.report)
        except JournalError as error:
            raise StartError(str(error)) from error

    async def _flush_for_ever(self) -> None:
        while self._journal is not None and not self.service.is_broken:
            await asyncio.sleep(_FLUSH_S)
            try:
                self._journal.flush()
            except OSError as error:
                self._break(error)

    async def stop(self) -> None:
        await self._http.stop()
        if self._admin is not None:
            await self._admin.stop()
        if self._flushing is not None:
            self._flushing.cancel()
        if self._journal is not None:
            self.keep()
            self._journal.close()
            self._journal = None

    def add_container(
        self,
        database: str,
        name: str,
        key_path: str | list[str] = "/id",
        ranges: int | None = None,
        default_ttl: int | None = None,
    ) -> Container:
        """Makes a container, and its database where there is none. Gives one that is there."""
        now, account = time.time(), self.service.account
        held = account.databases.get(database) or account.add_database({"id": database}, now)
        if name in held.containers:
            return held.containers[name]
        paths = [key_path] if isinstance(key_path, str) else key_path
        kind = "Hash" if len(paths) == 1 else "MultiHash"
        described: dict[str, Any] = {
            "id": name,
            "partitionKey": {"paths": paths, "kind": kind, "version": 2},
        }
        if default_ttl is not None:
            described["defaultTtl"] = default_ttl
        made = account.add_container(held, described, now, ranges=ranges)
        self.keep()
        return made

    def container(self, database: str, name: str) -> Container:
        """Raises NotFound."""
        return self.service.account.database(database).container(name)

    def split(self, database: str, name: str, range_id: str, at: str | None) -> tuple[Range, Range]:
        """Raises NotFound, RangeGone, Malformed."""
        children = self.container(database, name).split(range_id, at)
        self.keep()
        return children

    def merge(self, database: str, name: str, first_id: str, second_id: str) -> Range:
        """Raises NotFound, RangeGone, Malformed."""
        merged = self.container(database, name).merge(first_id, second_id)
        self.keep()
        return merged

    def inject(self, described: Mapping[str, Any]) -> Fault:
        """Adds a fault that JSON describes. Raises FaultError where it names what is not there."""
        fault = from_json(described, time.time())
        check_places(fault, self.service.account)
        return self.service.faults.add(fault)

    def _new_connection(self) -> HttpConnection:
        return HttpConnection(
            self._respond,
            time.time,
            self.report,
            _BODY_LIMIT,
            _HEADER_LIMIT,
            self.service.refuse_head,
        )

    def _respond(self, request: Request) -> Response:
        response = self.service.respond(request)
        return self.keep() or response

    def keep(self) -> Response | None:
        """Keeps what was done; gives what to answer where that fails."""
        if self._journal is None or self.service.is_broken:
            return None
        try:
            self._journal.keep()
        except OSError as error:
            self._break(error)
            return self.service.broken()
        return None

    def _break(self, error: OSError) -> None:
        """What is in memory is no longer what is on disk, and nothing may build on it."""
        self.report(f"cannot write to {self.options.data_directory}: {error.strerror or error}")
        self.service.is_broken = True

    async def _start_admin(self, host: str, port: int) -> None:
        from tidegate_cosmos.admin.listener import Admin  # noqa: PLC0415 - most run without it

        admin = Admin(self, host)
        self.admin_port = await self._listen(admin, host, port)
        self._admin = admin

    async def _listen(self, http: HttpServer, host: str, port: int) -> int:
        try:
            await http.start(host, port)
        except (OSError, OverflowError, ValueError) as error:
            raise StartError(listening_problem(error, host, port)) from error
        return http.port
