"""A pair of links to `$cbs` or `$management`, for requests and their answers."""

from __future__ import annotations

from typing import Any

from support.amqp_peer import Peer, Received
from support.hub_messages import part
from tidegate_amqp import Accepted
from tidegate_amqp.sections import APPLICATION_PROPERTIES


class Desk:
    """A pair of links to a node, for requests and their answers."""

    def __init__(self, peer: Peer, node: str) -> None:
        self.peer = peer
        session = peer.begin()
        self.answers = peer.attach_receiver(node, session, reply_to="here")
        self.requests = peer.attach_sender(node, session)
        self.answers.grant(100)
        self._asked = 0

    def ask(self, payload: bytes) -> Received:
        self._asked += 1
        assert self.peer.publish(self.requests, payload) == Accepted()
        return self.peer.messages(self.answers, self._asked)[-1]

    def leave(self) -> None:
        """Detaches both links: a connection has one pair of them to `$cbs`."""
        for link in (self.answers, self.requests):
            link.detach()
        self.peer.until(lambda: not self.answers.session.links, "the hub's detaches")

    def told(self, payload: bytes) -> dict[str, Any]:
        return dict(part(self.ask(payload).payload, APPLICATION_PROPERTIES))
