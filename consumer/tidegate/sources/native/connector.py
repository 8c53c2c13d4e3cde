"""The one connection that all readers of a source share: made when it is wanted, and made again.

Rules:
- One try at a time; who comes meanwhile waits for its end. After a failure the next try waits, by
  how often it failed and what the service asked for.
- A connection is handed out only after the token was taken. It is renewed long before it ends; a
  renewal that fails is tried again, and readers notice only when the service detaches them.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import time

from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.native.backoff import pause_s
from tidegate.sources.native.connection import HubConnection
from tidegate.sources.native.dropped import DroppedExchanges
from tidegate.sources.native.endpoint import Endpoint
from tidegate.sources.native.refusals import trouble_of
from tidegate.sources.native.requests import CBS, put_token
from tidegate.sources.native.sas import Token
from tidegate.sources.native.settings import NativeSettings
from tidegate.sources.native.tokens import Tokens
from tidegate_amqp import AmqpError


class Connector:
    """See the module."""

    def __init__(
        self,
        endpoint: Endpoint,
        tokens: Tokens,
        settings: NativeSettings,
        dropped: DroppedExchanges | None = None,
    ) -> None:
        self.dropped = dropped or DroppedExchanges()
        self._endpoint = endpoint
        self._tokens = tokens
        self._settings = settings
        self._lock = asyncio.Lock()
        self._connection: HubConnection | None = None
        self._token: Token | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._context: ssl.SSLContext | None = None
        self._failures = 0
        self._not_before = 0.0
        self._wants_token = False
        self._is_closed = False

    @property
    def place(self) -> str:
        return self._endpoint.name

    async def connection(self) -> HubConnection:
        """A connection that is open and let in. Raises SourceError."""
        async with self._lock:
            if self._is_closed:
                raise SourceError("the source is closed", is_fatal=True)
            connection = self._connection
            if connection is None or connection.is_over:
                connection = self._connection = await self._dial()
            elif self._wants_token:
                await self._put_token(connection)
            return connection

    async def token(self) -> Token:
        """The token that the connection was let in with."""
        await self.connection()
        assert self._token is not None
        return self._token

    def wants_token(self) -> None:
        """The service says that the right to be there has lapsed."""
        self._wants_token = True

    async def close(self) -> None:
        self._is_closed = True
        await self.dropped.close()
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def _dial(self) -> HubConnection:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(self._not_before - loop.time(), 0.0))
        connection = HubConnection(self._endpoint)
        try:
            with self.dropped.exchange("the opening of a connection"):
                await self._let_in(connection)
        except BaseException as error:
            await connection.close()
            if isinstance(error, SourceError):
                self._failures += 1
                self._not_before = loop.time() + pause_s(self._failures, random.random)
            raise
        self._failures = 0
        self._keep_renewing(connection)
        return connection

    async def _let_in(self, connection: HubConnection) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await connection.open(self._tls())
                await self._put_token(connection)
        except TimeoutError as error:
            raise SourceError(
                f"{self.place}: no answer within {self._settings.timeout_s:g} s"
            ) from error

    def _tls(self) -> ssl.SSLContext | None:
        if self._endpoint.is_tls and self._context is None:
            self._context = ssl.create_default_context(cafile=self._settings.ca_file or None)
        return self._context

    async def _put_token(self, connection: HubConnection) -> None:
        """Puts a fresh token. Raises SourceError."""
        self._wants_token = True
        token = await self._tokens.token()
        audience = self._tokens.audience
        try:
            answer = await connection.ask(
                CBS, lambda message_id, name: put_token(message_id, name, audience, token)
            )
        except AmqpError as error:
            raise NotUnderstoodError(f"{self.place}: $cbs: {error}") from error
        if answer.error is not None:
            place = f"{self.place}: the token was refused"
            raise trouble_of(answer.error, place, self._tokens.right).error
        self._token = token
        self._wants_token = False

    def _keep_renewing(self, connection: HubConnection) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        self._renewing = asyncio.create_task(self._renew(connection), name="token-renewal")

    async def _renew(self, connection: HubConnection) -> None:
        failures = 0
        while not connection.is_over and self._token is not None and self._token.can_be_renewed:
            pause = self._token.renew_in_s(time.time()) if not failures else pause_s(
                failures, random.random, at_least_s=1.0
            )  # fmt: skip
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(self._settings.timeout_s):
                    await self._put_token(connection)
            except (SourceError, TimeoutError):
                # The old token may be good for a while; when it is not, readers are told.
                failures += 1
            else:
                failures = 0
