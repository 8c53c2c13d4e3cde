"""Scenarios of the Python clients: what is not there, and who may not enter."""

from __future__ import annotations

import pytest
from azure.eventhub import EventData
from azure.eventhub.exceptions import AuthenticationError, EventHubError

from contract.hub.clients import Reading, condition_of, error_of, events_of, refusal_of, texts
from contract.hub.python.stage import Stage


async def unknown_hub_is_refused(stage: Stage) -> None:
    """The token for it is answered 404, as the service does. The SDK makes an AuthenticationError
    of it, and drops the condition and the words; its own live tests expect that."""
    client = stage.client.on(eventhub_name="no-such-hub")
    with pytest.raises(AuthenticationError, match="CBS Token authentication failed"):
        await client.send(texts(1))
    with pytest.raises(AuthenticationError, match="CBS Token authentication failed"):
        await client.hub_properties()
    async with client.read(Reading()) as reader:
        assert isinstance(await error_of(reader), AuthenticationError)


async def unknown_group_is_refused(stage: Stage) -> None:
    async with stage.client.read(Reading(group="no-such-group", expects_refusal=True)) as reader:
        error = await refusal_of(reader)
    assert condition_of(error) == "not-found"
    assert "no-such-group" in str(error)


async def unknown_partition_is_refused(stage: Stage) -> None:
    """Senders and readers of this SDK compare the id with the hub's list and do not ask; only a
    request for properties reaches the hub, whose words the SDK drops."""
    with pytest.raises(EventHubError, match="Invalid partition 99"):
        await stage.client.send(texts(1), partition_id="99")
    async with stage.client.read(Reading(partition="99")) as reader:
        assert "Wrong partition id" in str(await error_of(reader))
    with pytest.raises(EventHubError, match=r"Status code: 4\d\d"):
        await stage.client.partition_properties("99")


async def bad_key_is_refused(stage: Stage) -> None:
    """The SDK drops status and words of an answer that has an error condition."""
    wrong = "SharedAccessKey=" + "d3Jvbmcga2V5IGZvciB0ZXN0cw=="
    fields = stage.client.connection_string.split(";")
    bad = ";".join(wrong if f.startswith("SharedAccessKey=") else f for f in fields)
    assert bad != stage.client.connection_string
    client = stage.client.on(connection_string=bad)
    with pytest.raises(AuthenticationError, match="authentication failed"):
        await client.send(texts(1))
    with pytest.raises(AuthenticationError, match="authentication failed"):
        await client.hub_properties()
    async with client.read(Reading()) as reader:
        assert isinstance(await error_of(reader), AuthenticationError)
    await stage.client.send([EventData("welcome")], partition_id="0")
    async with stage.client.read(Reading()) as reader:
        await events_of(reader, 1)
    assert reader.heard.bodies() == ["welcome"]
