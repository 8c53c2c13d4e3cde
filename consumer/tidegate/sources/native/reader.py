"""One partition, read with one epoch over the shared connection.

Rules:
- `open` returns once the service has let the link in. What may pass is tried again, for as long as
  the settings' patience; stolen and fatal end the reader at once.
- After a loss it goes on behind the last event that came: nothing twice, nothing left out.
- What came before a loss is still handed out; what came before a theft is not, because the new
  owner reads it again.
- Room is counted in bytes: see credit.py.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from tidegate.model import PartitionEnd, PartitionId
from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.native.backoff import pause_s
from tidegate.sources.native.connection import HubConnection
from tidegate.sources.native.connector import Connector
from tidegate.sources.native.credit import Room
from tidegate.sources.native.event import Event
from tidegate.sources.native.refusals import Kind, Trouble, passing, trouble_of
from tidegate.sources.native.selectors import after, as_filter
from tidegate.sources.native.settings import NativeSettings
from tidegate_amqp import Error, ReceiverLink, Source, Symbol, Target
from tidegate_amqp.events import Delivery
from tidegate_amqp.performatives import Attach

_EPOCH = Symbol("com.microsoft:epoch")
_TELLS_END = Symbol("com.microsoft:enable-receiver-runtime-metric")
_GEO = Symbol("com.microsoft:georeplication")
_SETTLED = 1


class NativeReader:
    """See the module. `begin` is the filter to begin with; `epoch` None competes with nobody."""

    def __init__(
        self,
        connector: Connector,
        settings: NativeSettings,
        hub: str,
        group: str,
        partition: PartitionId,
        begin: str,
        epoch: int | None,
        room: Room,
        forget: Callable[[NativeReader], None],
    ) -> None:
        self.partition = partition
        self.room = room
        self._connector = connector
        self._settings = settings
        self._address = f"{hub}/ConsumerGroups/{group}/Partitions/{partition}"
        self._place = f"hub '{hub}', group '{group}', partition {partition}"
        self._begin = begin
        self._epoch = epoch
        self._forget = forget
        self._link: ReceiverLink | None = None
        self._flush: Callable[[], None] = lambda: None
        self._attached: asyncio.Future[None] | None = None
        self._woken = asyncio.Event()
        self._payloads: list[bytes] = []
        self._last: Event | None = None
        self._last_at = 0.0
        self._trouble: Trouble | None = None
        self._failures = 0
        self._failing_since: float | None = None
        self._retry_at = 0.0
        self._is_closed = False

    # --- the port

    async def open(self) -> None:
        """Attaches. Raises StolenError or SourceError."""
        while self._link is None:
            await self._attach()

    async def receive(self) -> Sequence[Event]:
        """The next events in order; none after a while without any. Raises as `open` does."""
        return [Event(payload) for payload in await self.receive_payloads()]

    async def receive_payloads(self) -> list[bytes]:
        """As `receive`: the messages as they came, for who decodes many at a time."""
        if not self._payloads:
            if self._link is None and not self._is_closed:
                await self._attach()
            if not self._payloads:
                await self._wait()
        trouble = self._trouble
        if trouble is not None and trouble.kind is Kind.STOLEN:
            self._payloads.clear()
            raise trouble.error
        return self._hand_out() if self._payloads else []

    async def close(self) -> None:
        """Leaves the partition; what waits is dropped."""
        self._is_closed = True
        self._payloads.clear()
        self._leave()
        self._forget(self)

    @property
    def is_attached(self) -> bool:
        """Whether it has its place at the hub, as far as is known here."""
        return self._link is not None and not self._link.is_gone

    @property
    def known_end(self) -> PartitionEnd | None:
        """How far the partition had come when the last event was sent, as the service said it."""
        place = None if self._last is None else self._last.last_enqueued
        if place is None:
            return None
        at = None if place.enqueued_ms is None else place.enqueued_ms / 1000
        return PartitionEnd(place.sequence, place.offset, at, self._last_at)

    # --- attaching

    async def _attach(self) -> None:
        """One try, when it is due; waits no longer than a quiet reader does."""
        trouble = self._trouble
        if trouble is not None and trouble.kind is not Kind.PASSING:
            raise trouble.error
        loop = asyncio.get_running_loop()
        wait_s = self._retry_at - loop.time()
        if wait_s > 0:
            await asyncio.sleep(min(wait_s, self._settings.quiet_s))
            if wait_s > self._settings.quiet_s:
                return
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await self._try()
        except TimeoutError:
            said = f"{self._place}: no answer within {self._settings.timeout_s:g} s"
            self._note(passing(said), loop.time())
        except SourceError as error:
            # An attach that was refused has left its trouble; anything else is the connection's.
            trouble = Trouble(Kind.FATAL if _is_final(error) else Kind.PASSING, error)
            if not isinstance(error, NotUnderstoodError):
                trouble = self._trouble or trouble
            self._note(trouble, loop.time())
        else:
            self._trouble = None
            self._failures, self._failing_since = 0, None

    async def _try(self) -> None:
        self._leave()
        if self._trouble is not None and self._trouble.wants_token:
            self._connector.wants_token()
        self._trouble = None
        connection = await self._connector.connection()
        self._flush = connection.flush_soon
        with self._connector.dropped.exchange(f"the attach to partition {self.partition}"):
            await self._ask_for_link(connection)

    async def _ask_for_link(self, connection: HubConnection) -> None:
        self._attached = asyncio.get_running_loop().create_future()
        capabilities = [_GEO, _TELLS_END] if self._settings.tells_end else [_GEO]
        link = await connection.receiver(
            self,
            self.room.begin(),
            Source(self._address, filter=as_filter(self._filter())),
            Target(self._address),
            snd_settle_mode=_SETTLED,
            properties=None if self._epoch is None else {_EPOCH: self._epoch},
            desired_capabilities=capabilities,
        )
        # It is ours from here on, also where this is cancelled before the answer.
        self._link = link
        await self._attached

    def _filter(self) -> str:
        return self._begin if self._last is None else after(self._last.position)

    def _note(self, trouble: Trouble, now: float) -> None:
        """Counts a failure. Raises what is not to be tried again."""
        self._leave()
        self._trouble = trouble
        if trouble.kind is not Kind.PASSING:
            raise trouble.error
        self._failures += 1
        self._failing_since = now if self._failing_since is None else self._failing_since
        self._retry_at = now + pause_s(self._failures, random.random, trouble.at_least_s)
        if now - self._failing_since >= self._settings.patience_s:
            self._failing_since = None
            raise trouble.error

    def _leave(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.context = _NOBODY
            link.detach()
            self._flush()

    # --- what comes

    async def _wait(self) -> None:
        self._woken.clear()
        if self._link is None and not self._is_closed:
            return
        try:
            async with asyncio.timeout(self._settings.quiet_s):
                await self._woken.wait()
        except TimeoutError:
            # A quiet partition: the caller is told that nothing came.
            return

    def _hand_out(self) -> list[bytes]:
        most = self._settings.batch_events
        waiting = self._payloads
        if len(waiting) <= most:
            batch, self._payloads = waiting, []
        else:
            batch, self._payloads = waiting[:most], waiting[most:]
        self.room.went(sum(map(len, batch)))
        self.renew_credit()
        return batch

    def renew_credit(self) -> None:
        """Grants what its room has come to want."""
        link = self._link
        if link is None or link.is_gone:
            return
        credit = self.room.renewal(link.credit)
        if credit is not None:
            link.grant(credit)
            self._flush()

    # --- the connection calls

    def on_attached(self, attach: Attach) -> None:
        # A refusal comes as an attach without a source, then a detach with the reason.
        if attach.source is not None and self._attached is not None and not self._attached.done():
            self._attached.set_result(None)

    def on_run(self, payloads: list[bytes]) -> None:
        last = Event(payloads[-1])
        try:
            _ = last.place
        except NotUnderstoodError as error:
            self._end(Trouble(Kind.FATAL, error))
            return
        self._last, self._last_at = last, time.time()
        self._payloads += payloads
        self.room.came(len(payloads), sum(map(len, payloads)))
        self.renew_credit()
        self._woken.set()

    def on_delivery(self, delivery: Delivery) -> None:
        self.on_run([delivery.payload])

    def on_detached(self, error: Error | None) -> None:
        self._end(trouble_of(error, self._place))

    def on_trouble(self, trouble: Trouble) -> None:
        self._end(trouble)

    def _end(self, trouble: Trouble) -> None:
        """The link is of no use any more."""
        self._link = None
        error = trouble.error
        self._trouble = trouble
        if self._attached is not None and not self._attached.done():
            wrapped = error if isinstance(error, SourceError) else SourceError(str(error))
            self._attached.set_exception(wrapped)
            self._attached.exception()
        self._woken.set()


def _is_final(error: SourceError) -> bool:
    return error.is_fatal or isinstance(error, NotUnderstoodError)


class _Nobody:
    """What a link belongs to that its reader has left."""

    def on_attached(self, attach: Attach) -> None:
        """Too late."""

    def on_run(self, payloads: list[bytes]) -> None:
        """Nobody wants it any more."""

    def on_delivery(self, delivery: Delivery) -> None:
        """Nobody wants it any more."""

    def on_detached(self, error: Error | None) -> None:
        """That was wanted."""

    def on_trouble(self, trouble: Trouble) -> None:
        """It has left already."""


_NOBODY: Any = _Nobody()
