"""A pair of links to `$cbs` or `$management`: requests go out, answers come in by their ids."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from tidegate.ports import SourceError
from tidegate.sources.native.refusals import Trouble, trouble_of
from tidegate.sources.native.requests import Answer, read_answer
from tidegate_amqp import Accepted, Error, ReceiverLink, SenderLink, Session, Source, Target
from tidegate_amqp.events import Delivery
from tidegate_amqp.performatives import Attach

_CREDIT = 100
_IDS = 1 << 128


class Desk:
    """One node of one connection."""

    def __init__(self, session: Session, node: str, name: str) -> None:
        loop = asyncio.get_running_loop()
        self.node = node
        self._name = name
        self._ready: asyncio.Future[None] = loop.create_future()
        self._waiting: dict[uuid.UUID, asyncio.Future[Answer]] = {}
        # Ids are counted from a random one on.
        self._first = uuid.uuid4().int
        self._sent = 0
        self._answers: ReceiverLink = session.attach_receiver(name, Source(node), Target(name))
        self._requests: SenderLink = session.attach_sender(
            f"{name}-out", Source(name), Target(node)
        )
        self._answers.context = self._requests.context = self
        self._answers.grant(_CREDIT)

    @property
    def is_usable(self) -> bool:
        return not (self._answers.is_gone or self._requests.is_gone)

    async def ask(
        self,
        make: Callable[[uuid.UUID, str], bytes],
        flush: Callable[[], None],
    ) -> Answer:
        """Sends a request and waits for its answer. Raises SourceError when the link is lost."""
        await asyncio.shield(self._ready)
        if not self.is_usable:
            raise SourceError(f"the link to {self.node} was lost")
        self._sent += 1
        message_id = uuid.UUID(int=(self._first + self._sent) % _IDS)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[message_id] = answer
        self._requests.send(make(message_id, self._name), tag=self._sent.to_bytes(4, "little"))
        flush()
        try:
            return await answer
        finally:
            self._waiting.pop(message_id, None)

    # --- the connection calls

    def on_attached(self, attach: Attach) -> None:
        """Credit says that requests may come."""

    def on_credit(self) -> None:
        if self._requests.sendable > 0 and not self._ready.done():
            self._ready.set_result(None)

    def on_delivery(self, delivery: Delivery) -> None:
        if not delivery.settled:
            delivery.link.settle(delivery.delivery_id, Accepted())
        if delivery.link.credit < _CREDIT // 2:
            delivery.link.grant(_CREDIT)
        answer = read_answer(delivery.payload)
        if isinstance(answer.correlation, bytes) and len(answer.correlation) == 16:
            answer = answer._replace(correlation=uuid.UUID(bytes=answer.correlation))
        waiting = self._waiting.get(answer.correlation)
        # Nobody waits any more for an answer that came too late.
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def on_detached(self, error: Error | None) -> None:
        self.on_trouble(trouble_of(error, self.node))

    def on_trouble(self, trouble: Trouble) -> None:
        waiting: list[asyncio.Future[Any]] = [self._ready, *self._waiting.values()]
        for each in waiting:
            if not each.done():
                each.set_exception(trouble.error)
                # It may be that nobody waits: that is no error of its own.
                each.exception()
