"""What the operator asks of the groups' hubs, against our hub: bounded, told in words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.operator.one_setup import EMULATOR, EVENTS, HOME, SETTINGS, setup_of
from support.wait import wait_until_async
from tidegate.commands.wiring import Setup
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing
from tidegate_hub.testing import RunningHub, running_hub
from tidegate_operator.hubs import Hubs
from tidegate_operator.local.ports import free_port
from tidegate_operator.model import GroupKey


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    with running_hub(check_sas=True) as hub:
        yield hub


@pytest.fixture
async def hubs(woken: list[GroupKey]) -> AsyncIterator[Hubs]:
    hubs = Hubs(SETTINGS, time.time, woken.append)
    yield hubs
    await hubs.close()


async def _asked(hubs: Hubs, setup: Setup, woken: list[GroupKey]) -> Any:
    woken.clear()
    hubs.look(HOME, setup, is_anybody_alive=False)
    await wait_until_async(lambda: HOME in woken, 20, "the hub's answer")
    return hubs.look(HOME, setup, is_anybody_alive=False)


async def test_a_hub_says_how_far_all_its_partitions_have_come(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    hub.add_hub("homes", 4)
    setup = setup_of(azurite, container, hub="homes", events=hub.connection_string)
    ends, failure = await _asked(hubs, setup, woken)
    assert failure is None and sorted(ends.partitions) == ["0", "1", "2", "3"]
    assert all(end is not None and end.sequence == -1 for end in ends.partitions.values())


async def test_an_unknown_hub_and_a_wrong_key_are_said_apart(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    events = hub.connection_string
    setup = setup_of(azurite, container, hub="no-such-hub", events=events)
    _, failure = await _asked(hubs, setup, woken)
    assert failure.reason == "HubUnknown" and "no-such-hub" in failure.message
    wrong = "SharedAccessKey=AAAA"
    events = ";".join(
        wrong if part.startswith("SharedAccessKey=") else part for part in events.split(";")
    )
    hub.add_hub("homes", 1)
    setup = setup_of(azurite, container, hub="homes", events=events)
    _, failure = await _asked(hubs, setup, woken)
    assert failure.reason == "HubDenied" and "AAAA" not in failure.message


async def test_a_hub_that_nobody_serves_is_unreachable(
    hubs: Hubs, container: str, azurite: str, woken: list[GroupKey], tmp_path: Path
) -> None:
    events = f"{EVENTS.replace('ns.example.net/', f'127.0.0.1:{free_port()}')};{EMULATOR}"
    setup = setup_of(azurite, container, events=events)
    ends, failure = await _asked(hubs, setup, woken)
    assert ends is None and failure.reason == "HubUnreachable"


async def test_a_certificate_that_only_the_members_have_keeps_the_operator_from_asking(
    hubs: Hubs, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    setup = setup_of(azurite, container)
    spec = setup.group.spec
    source = replace(spec.source.hubs, ca_file="/etc/authority/hub.pem")
    group = replace(setup.group, spec=replace(spec, source=replace(spec.source, event_hubs=source)))
    ends, failure = await _asked(hubs, replace(setup, group=group), woken)
    assert ends is None and failure.reason == "HubUnreachable"
    assert "eventHubs.caFile: there is no file /etc/authority/hub.pem" in failure.message
    assert "Mount it there" in failure.message


async def test_a_group_that_sleeps_is_woken_within_5_s_of_an_event_and_by_nothing_else(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    hub.add_hub("homes", 4)
    setup = setup_of(azurite, container, hub="homes", events=hub.connection_string)
    await _asked(hubs, setup, woken)
    woken.clear()
    hubs.look(HOME, setup, is_anybody_alive=False, is_asleep=True)
    asked_at = time.time()

    def ends() -> Any:
        return hubs.look(HOME, setup, is_anybody_alive=False, is_asleep=True)[0]

    def is_asked_again() -> bool:
        known_at = [float(end.known_at) for end in ends().partitions.values()]
        return min(known_at) > asked_at + 4.0

    await wait_until_async(is_asked_again, 20, "the hub to be asked again and again")
    assert woken == [], "nothing has come"
    before = time.monotonic()
    sender = NativeSender(hub.connection_string, "homes")
    await sender.send([Outgoing(b"one", partition="2")])
    await sender.flush()
    await wait_until_async(lambda: HOME in woken, 20, "the group to be woken")
    assert time.monotonic() - before < 5.0
    assert ends().partitions["2"].sequence == 0
    await sender.close()
    hubs.look(HOME, setup, is_anybody_alive=True)

    def asks() -> bool:
        return any(task.get_name().startswith("ends for") for task in asyncio.all_tasks())

    await wait_until_async(lambda: not asks(), 20, "the questions to end")
