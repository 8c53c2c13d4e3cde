"""Servers whose keys are planted, and the environment in which groups find them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
from azure.eventhub import EventData, EventHubProducerClient

from support.azurite import azurite_process
from support.leaky_groups import HUB, NAMES, PRINTS
from support.planted import Planted, new_key
from tidegate_cosmos.testing import running_cosmos
from tidegate_hub.testing import running_hub

KEYS = ("hub", "another hub", "storage", "another storage", "Cosmos", "another Cosmos", "SAS")


@dataclass(frozen=True)
class World:
    """Servers that look at keys. `keys` are the planted ones, by what they open."""

    keys: dict[str, str] = field(repr=False)
    environment: dict[str, str] = field(repr=False)
    # Where blobs are, and the connection string for them.
    blobs: str
    storage: str = field(repr=False)

    @property
    def planted(self) -> Planted:
        return Planted({f"key of {name}": key for name, key in self.keys.items()})


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    keys = {name: new_key() for name in KEYS}
    monkeypatch.setenv("AZURITE_ACCOUNTS", f"planted:{keys['storage']}")
    (tmp_path / "azurite").mkdir()
    with (
        azurite_process(tmp_path / "azurite") as port,
        running_hub(check_sas=True, key=keys["hub"]) as hub,
        running_cosmos(key=keys["Cosmos"]) as cosmos,
    ):
        hub.add_hub(HUB, 2, [*NAMES, PRINTS])
        cosmos.add_container("shop", "orders", "/customer")
        blobs = f"http://127.0.0.1:{port}/planted"
        storage = (
            f"DefaultEndpointsProtocol=http;AccountName=planted;AccountKey={keys['storage']};"
            f"BlobEndpoint={blobs};"
        )
        events, container = hub.connection_string, cosmos.connection_string
        signature = quote(keys["SAS"], safe="")
        environment = {
            "LEAKY_EVENTS": events,
            "WRONG_EVENTS": events.replace(keys["hub"], keys["another hub"]),
            "FAR_EVENTS": events.replace(str(hub.port), "1"),
            "STORAGE": storage,
            "WRONG_STORAGE": storage.replace(keys["storage"], keys["another storage"]),
            "COSMOS": container,
            "WRONG_COSMOS": container.replace(keys["Cosmos"], keys["another Cosmos"]),
            "SAS": f"sv=2021-12-02&ss=b&srt=sco&sp=rwdlac&se=2099-01-01T00:00:00Z&sig={signature}",
        }
        with EventHubProducerClient.from_connection_string(events, eventhub_name=HUB) as sender:
            for partition in ("0", "1"):
                batch = sender.create_batch(partition_id=partition)
                batch.add(EventData(b'{"a":1}'))
                sender.send_batch(batch)
        yield World(keys, environment, blobs, storage)
