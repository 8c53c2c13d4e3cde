"""The hub server: listeners, connections, and what happens by the clock.

Rules: one loop and one thread have everything, except that flushing and closing the store run on
threads of their own. What is done by the clock goes on whatever one part of it does. Stopping
closes every connection with a word, then the store, and never waits for a disk that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate_amqp import Error
from tidegate_http.listening import listening_problem
from tidegate_http.stopping import stop_listening
from tidegate_hub import access_conditions, connection_string
from tidegate_hub.broker import Broker
from tidegate_hub.client import Client
from tidegate_hub.durable import GroupCommit, on_a_thread
from tidegate_hub.faults import Fault, Kind, Operation, Target, delay_of
from tidegate_hub.options import Options
from tidegate_hub.sas import KeyRule
from tidegate_hub.storage.errors import StorageError
from tidegate_hub.storage.store import Store
from tidegate_hub.strike import strike
from tidegate_hub.wire import TcpWire

if TYPE_CHECKING:
    from tidegate_hub.admin.listener import Admin

TICK_S = 1.0
RETENTION_EVERY_S = 10.0
# How long stopping waits for clients that take their time to read their last words.
STOP_LIMIT_S = 1.0
# How long it waits for the store; what is not written then is found again at the next start.
CLOSE_LIMIT_S = 4.0
_BACKLOG = 512


class StartError(Exception):
    """The server cannot start; the message says why and what to do."""


class HubServer:
    """One running hub server. `start`, then `stop`."""

    def __init__(self, options: Options, report: Callable[[str], None] = print) -> None:
        self.options = options
        self.report = report
        self.container = uuid.uuid4().hex
        self.clients: set[Client] = set()
        self.port = options.port
        self.tls_port = options.tls_port
        self.admin_port = options.admin_port
        self._listeners: list[asyncio.Server] = []
        self._admin: Admin | None = None
        self._commit: GroupCommit | None = None
        self._all_gone = asyncio.Event()
        self._duties: list[asyncio.Task[None]] = []
        store = Store(
            options.data_directory,
            fsync=options.fsync,
            memory_budget_bytes=options.memory_budget_bytes,
            total_bytes=options.total_bytes,
        )
        self.broker = Broker(
            store,
            options.namespace,
            clock_ms=lambda: time.time_ns() // 1_000_000,
            rules=(KeyRule(options.key_name, options.key),),
            is_checked=options.is_checked,
            retention=options.retention,
            report=report,
        )

    async def start(self) -> None:
        """Opens the hubs, then the ports. Raises StartError, and then nothing stays open."""
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        options, broker = self.options, self.broker
        if broker.store.no_spill is not None:
            self.report(str(broker.store.no_spill))
        broker.load_hubs()
        for spec in options.hubs:
            broker.add_hub(spec)
        for spec in () if any(broker.hubs) else options.default_hubs:
            broker.add_hub(spec)
        for line in broker.store.recovered:
            self.report(line)
        if options.data_directory is not None and options.fsync == "always":
            self._commit = GroupCommit(broker.store, self.report)
            broker.when_durable = self._commit.when_durable
        tls = None if options.tls_port is None else self._tls()
        self.port = await self._listen(options.port, None)
        if options.tls_port is not None:
            self.tls_port = await self._listen(options.tls_port, tls)
        if options.admin_port is not None:
            self.admin_port = await self._start_admin(options.admin_host, options.admin_port)
        loop = asyncio.get_running_loop()
        self._duties.append(loop.create_task(self._tick()))
        if options.fsync == "interval":
            self._duties.append(loop.create_task(self._flush()))

    async def stop(self) -> None:
        """Answers what is stored, closes every connection with a word, then the store."""
        for duty in self._duties:
            duty.cancel()
        await stop_listening(*self._listeners)
        if self._admin is not None:
            await self._admin.stop()
        if self._commit is not None:
            await self._commit.finish()
        error = access_conditions.stopping(self.container)
        for client in list(self.clients):
            client.close(Error(error.condition, error.description))
        if self.clients:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), STOP_LIMIT_S)
        for client in list(self.clients):
            client.abort()
        try:
            await asyncio.wait_for(on_a_thread(self.broker.store.close), CLOSE_LIMIT_S)
        except TimeoutError:
            self.report(f"the disk hangs: the store was not closed within {CLOSE_LIMIT_S:g} s")

    def connection_string(self, hub: str | None = None, *, tls: bool = False) -> str:
        """What a client on this machine connects with."""
        port = self.tls_port if tls else self.port
        return connection_string.make(
            connection_string.ConnectionString(
                host="localhost" if _is_local(self.options.host) else self.options.host,
                port=port,
                key_name=self.options.key_name,
                key=self.options.key,
                hub=hub,
                emulator=not tls,
            )
        )

    def inject(self, fault: Fault) -> Fault:
        """Adds a scripted fault, or carries it out where it acts at once."""
        added = self.broker.faults.add(fault)
        if added.is_immediate:
            strike(self.broker, self.clients, added)
        return added

    # --- connections

    async def _listen(self, port: int, tls: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        host = self.options.host
        try:
            listener = await loop.create_server(
                lambda: TcpWire(self._admit, self._forget), host, port, ssl=tls, backlog=_BACKLOG
            )
        except (OSError, OverflowError, ValueError) as error:
            raise _cannot_listen(host, port, error) from error
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def _start_admin(self, host: str, port: int) -> int:
        from tidegate_hub.admin.listener import Admin  # noqa: PLC0415 - most hubs run without it

        try:
            self._admin = await Admin.start_for(self, host, port)
        except (OSError, OverflowError, ValueError) as error:
            raise _cannot_listen(host, port, error) from error
        return self._admin.port

    def _tls(self) -> ssl.SSLContext:
        certificate, key = self.options.certificate, self.options.private_key
        if certificate is None or key is None:
            raise StartError("--tls-port needs --cert FILE and --key FILE, both in PEM form")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(Path(certificate), Path(key), _no_password(key))
        except (OSError, ssl.SSLError) as error:
            raise StartError(f"cannot use {certificate} with {key}: {error}") from error
        return context

    def _admit(self, wire: TcpWire) -> Client | None:
        faults = self.broker.faults
        if faults:
            target, now = Target(Operation.CONNECT), time.time()
            for kind in (Kind.STOP_ACCEPTING, Kind.DROP_CONNECTION):
                if faults.take(kind, target, now):
                    return None
            delay_s = delay_of(faults, target, now)
            if delay_s:
                wire.hold_back(delay_s)
        client = Client(self.broker, wire, self.container, time.time, time.monotonic)
        self.clients.add(client)
        self._all_gone.clear()
        return client

    def _forget(self, client: Client) -> None:
        self.clients.discard(client)
        if not self.clients:
            self._all_gone.set()

    # --- by the clock

    async def _tick(self) -> None:
        """What connections and retention are due, once a second."""
        next_retention = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            for client in list(self.clients):
                self._do(f"the tick of connection {client.number}", client.tick)
            if time.monotonic() >= next_retention:
                next_retention = time.monotonic() + RETENTION_EVERY_S
                self._do("retention", self._apply_retention)

    def _do(self, what: str, duty: Callable[[], None]) -> None:
        """One that fails is reported and does not keep the others from being done."""
        try:
            duty()
        except Exception as error:
            self.report(f"{what} failed: {error!r}")

    def _apply_retention(self) -> None:
        for problem in self.broker.store.apply_retention(self.broker.clock_ms()):
            self.report(problem)

    async def _flush(self) -> None:
        """Once a second; however long it takes, nothing else waits for it."""
        store = self.broker.store
        while True:
            await asyncio.sleep(TICK_S)
            if not store.sync_needed:
                continue
            try:
                await on_a_thread(store.sync)
            except StorageError as error:
                self.report(str(error))
            except Exception as error:
                self.report(f"the flush to disk failed: {error!r}")


def _no_password(key: Path) -> Callable[[], str]:
    """Called for a key that is encrypted; without it the terminal would be asked."""

    def refuse() -> str:
        raise StartError(
            f"{key} is encrypted with a password, which the hub does not ask for: give --key a "
            "file without one"
        )

    return refuse


def _cannot_listen(host: str, port: int, error: Exception) -> StartError:
    return StartError(listening_problem(error, host, port))


def _is_local(host: str) -> bool:
    return host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::")
