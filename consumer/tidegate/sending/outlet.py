"""One link that batches go out on: what waits, what is under way, what the service made of it.

Rules:
- What was not accepted is not sent: after a loss it goes out again, in its old order, before
  anything newer. So an event may come twice, and none is lost.
- A batch that the service refuses for a while goes out again after those that are under way; that
  is the one way in which events of a key can change their order.
- While there is trouble nothing is sent: who waits for the events decides when to go on.
- No I/O: the owner of the connection flushes.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from typing import Any

from tidegate.sending.packing import MAX_BATCH_BYTES, Batch
from tidegate.sources.native.refusals import SEND, Trouble, passing, trouble_of
from tidegate_amqp import Accepted, Error, Rejected, SenderLink
from tidegate_amqp.events import Delivery
from tidegate_amqp.performatives import Attach
from tidegate_amqp.sections import BATCH_FORMAT

# A batch costs a round trip; so many at once hide it, and fit the credit that the service gives.
_UNDER_WAY = 256


class Outlet:
    """Batches for one address."""

    def __init__(self, address: str, place: str) -> None:
        self.address = address
        self.place = place
        self.link: SenderLink | None = None
        self.limit = MAX_BATCH_BYTES
        self.trouble: Trouble | None = None
        self.changed = asyncio.Event()
        self.accepted = 0  # events
        # Of batches that the service does not have yet.
        self.unfinished_bytes = 0
        self._waiting: deque[Batch] = deque()
        self._under_way: dict[int, Batch] = {}
        self._tags = itertools.count()

    def put(self, batch: Batch) -> None:
        self._waiting.append(batch)
        self.unfinished_bytes += len(batch.payload)
        self.pump()

    def pump(self) -> None:
        """Sends what credit and window allow."""
        link = self.link
        if link is None or self.trouble is not None:
            return
        while self._waiting and len(self._under_way) < _UNDER_WAY and link.sendable > 0:
            batch = self._waiting.popleft()
            tag = (next(self._tags) & 0xFFFFFFFF).to_bytes(4, "big")
            number = link.send(batch.payload, tag=tag, message_format=BATCH_FORMAT)
            self._under_way[number] = batch

    # --- the connection calls

    def on_attached(self, attach: Attach) -> None:
        if attach.max_message_size:
            self.limit = min(attach.max_message_size, MAX_BATCH_BYTES)
        self.changed.set()

    def on_credit(self) -> None:
        self.pump()

    def on_delivery(self, delivery: Delivery) -> None:
        raise TypeError(f"a link that we send on received {delivery!r:.80}")

    def on_outcome(self, first: int, last: int, state: Any) -> None:
        """The service has made up its mind about deliveries, some of which may be ours."""
        for number in range(first, last + 1):
            batch = self._under_way.pop(number, None)
            if batch is None:
                continue
            if isinstance(state, Accepted):
                self.accepted += batch.events
                self.unfinished_bytes -= len(batch.payload)
                continue
            self._waiting.append(batch)
            if isinstance(state, Rejected):
                self.trouble = trouble_of(state.error, self.place, SEND)
            else:
                self.trouble = passing(f"{self.place}: the service did not take a batch")
        self.changed.set()
        self.pump()

    def on_detached(self, error: Error | None) -> None:
        self.on_trouble(trouble_of(error, self.place, SEND))

    def on_trouble(self, trouble: Trouble) -> None:
        """The link is gone; what was under way waits again, first."""
        self.link = None
        self._waiting.extendleft(reversed(self._under_way.values()))
        self._under_way.clear()
        self.trouble = trouble
        self.changed.set()
