"""Blobs that cannot be read are named once and left alone, and everything else goes on."""

from __future__ import annotations

from dataclasses import replace

from support.member_desk import Desk, alone
from tidegate.member import messages as m
from tidegate.model import Flaw
from tidegate.ports import CreateOwnership, List

SPOILT = Flaw("host/hub/group/ownership/1", "blob 'ownership/1' cannot be read", "1")


def see(desk: Desk, *flaws: Flaw) -> list[m.Command]:
    """What the member `a` does at a listing in which partition 1 cannot be read."""
    listing = desk.listing()
    rows = {key: row for key, row in listing.ownerships.items() if key != "1"}
    found = replace(listing, ownerships=rows, flaws=flaws)
    desk.tell("a", m.Woken(desk.now + 5))
    return desk.tell("a", m.Answered(desk.now + 5, desk.now + 5, None, List(), found))


def test_a_spoilt_ownership_is_named_once_and_never_made_anew() -> None:
    desk = Desk("0", "1")
    desk.is_held_back = lambda _, operation: operation == CreateOwnership("1")
    desk.join("a")
    desk.look()
    assert desk.reading("a") == ["0"]
    desk.said["a"].clear()
    first, second = see(desk, SPOILT), see(desk, SPOILT)
    assert [command for command in first if isinstance(command, m.Report)] == [
        m.Report("unreadable", "1", SPOILT.problem)
    ]
    assert "unreadable" not in [c.kind for c in second if isinstance(c, m.Report)]
    assert desk.operations("a", CreateOwnership) == []


def test_what_was_mended_and_is_spoilt_again_is_named_again() -> None:
    desk = alone("0")
    for flaws in ((SPOILT,), (), (SPOILT,)):
        see(desk, *flaws)
    assert desk.reports("a").count("unreadable") == 2
