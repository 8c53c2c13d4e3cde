"""Whatever members and rosters say crosses the wire as headers and comes back as it was."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.ledger.worlds import checkpoint, listed, new_id, open_world, ownership
from tidegate.model import Figures, LeaseState, Owner, Position, Presence, Roster
from tidegate.ports import (
    Acquire,
    Announce,
    CreateOwnership,
    Join,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

WORLDS = ("memory", "blob", "blob-2017-11-09", "cosmos")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=20)
MEMBER_NAMES = NAMES.filter(lambda name: name not in (".", ".."))
OFFSETS = st.from_regex(r"[!-~]([ -~]{0,30}[!-~])?", fullmatch=True)


async def said_and_heard(
    member: str, text: str, names: list[str], offset: str, state: bytes, backend: str, service: str
) -> None:
    async with open_world(backend, service) as world:
        ledger, lease_id = world.ledger, new_id()
        presence = Presence(
            member,
            "",
            LeaseState.LEASED,
            text,
            1.5,
            dict.fromkeys(names, 0.25),
            {name: new_id() for name in names},
            is_leaving=True,
            declines=frozenset(names),
            pod_uid=text,
            stuck=frozenset(names),
            open_circuits=frozenset(names),
            unread=frozenset(names),
            trouble=text,
            figures={name: Figures(9, 7, 1.5) for name in names},
        )
        await ledger.perform(Join(member, lease_id))
        await ledger.perform(Announce(presence, lease_id))
        roster = Roster(expected=tuple(names), pins=dict.fromkeys(names, text))
        await ledger.perform(WriteRoster(roster, ""))
        etag = str(await ledger.perform(CreateOwnership("0")))
        await ledger.perform(Acquire("0", lease_id, etag))
        owner = Owner(member, "i1")
        await ledger.perform(WriteOwnership("0", lease_id, etag, owner, 3, text))
        here = Position(offset, 7)
        await ledger.perform(WriteCheckpoint("0", None, here, 3, text, 1.25, text, state))

        listing = await listed(ledger)
        assert replace(listing.members[member], etag="", figures_at=0.0) == presence
        assert listing.roster is not None
        assert replace(listing.roster, etag="", written_at=0.0) == roster
        for row in (listing.ownerships["0"], await ownership(ledger, "0")):
            assert (row.owner, row.epoch, row.nonce) == (owner, 3, text)
        whole = await checkpoint(ledger, "0")
        assert (whole.position, whole.nonce, whole.rewound_by) == (here, text, text)
        assert (whole.state, whole.is_state_behind) == (state, False)
        assert listing.flaws == ()


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MEMBER_NAMES, TEXTS, st.lists(NAMES, max_size=4, unique=True), OFFSETS, st.binary())
def test_what_is_said_is_what_is_heard_in_every_world(
    azurite: str,
    cosmos_account: str,
    member: str,
    text: str,
    names: list[str],
    offset: str,
    state: bytes,
) -> None:
    services = dict.fromkeys(WORLDS, azurite) | {"cosmos": cosmos_account}

    async def everywhere() -> None:
        await asyncio.gather(
            *(
                said_and_heard(member, text, names, offset, state, backend, services[backend])
                for backend in WORLDS
            )
        )

    asyncio.run(everywhere())
