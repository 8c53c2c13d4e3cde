"""Members live while storage answers garbage, and go on once the answers are right."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from support.azurite import connection_string
from support.group import Group
from support.mangling_proxy import ManglingProxy, mangling_proxy
from support.wait import wait_until
from tidegate.ledger.access import BlobSettings

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]


def test_members_live_through_answers_that_are_none_and_lose_no_event(
    new_group: NewGroup, azurite: str
) -> None:
    group = new_group(6)
    port = int(BlobSettings("any", connection_string=azurite).host.rpartition(":")[2])
    with mangling_proxy(port, 7) as proxy:
        proxy.share = 0.0
        group.start("a", "b", blobs=connection_string(proxy.port))
        group.wait_until_read_by({"a", "b"}, 60)
        # First some of the answers, then all: no lease lasts through that.
        for share, answers in ((0.4, 150), (1.0, 100)):
            proxy.share, until = share, proxy.answers + answers
            wait_until(partial(at_least, proxy, until), 90, f"{answers} answers")
        proxy.share = 0.0
        group.wait_until_read_by({"a", "b"}, 90, since=time.time())
        assert len(proxy.done) > 12
        group.stop("a", "b")
    assert group.missing() == []


def at_least(proxy: ManglingProxy, answers: int) -> bool:
    return proxy.answers >= answers
