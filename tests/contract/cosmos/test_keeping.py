"""A server that keeps its items on disk: clients go on after it was stopped or killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from azure.cosmos import CosmosClient

from contract.cosmos.clients import Sdk
from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY
from tidegate_cosmos.testing import running_cosmos


async def test_a_continuation_stays_good_through_a_restart(tmp_path: Path) -> None:
    with running_cosmos(data=tmp_path) as cosmos:
        cosmos.add_container("home", "events", "/home", ranges=2)
        sdk = Sdk(False, cosmos.endpoint, cosmos.key)
        events = sdk.container("home", "events")
        for number in range(20):
            await events.create({"id": f"a{number}", "home": f"h{number}"})
        begun = await events.feed(start_time="Beginning")
        await events.create({"id": "b", "home": "h3"})
        cosmos.split("home", "events", "0")
        await sdk.close()
    with running_cosmos(data=tmp_path) as cosmos:
        sdk = Sdk(False, cosmos.endpoint, cosmos.key)
        events = sdk.container("home", "events")
        await events.create({"id": "c", "home": "h4"})
        told = await events.feed(continuation=begun.token)
        assert sorted(told.ids) == ["b", "c"]
        assert len(await events.all_items()) == 22
        await sdk.close()


def test_what_was_answered_outlives_a_kill(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "tidegate_cosmos", "serve", "--port", "0", "--data", str(tmp_path),
        "--container", "home/events:/home:3",
    ]  # fmt: skip
    written = 0
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            endpoint = ""
            for line in server.stdout:
                if line.startswith("connection string: "):
                    endpoint = line.split("AccountEndpoint=")[1].split(";")[0]
                if line.startswith("ready"):
                    break
            with CosmosClient(endpoint, WELL_KNOWN_KEY) as client:
                events = client.get_database_client("home").get_container_client("events")
                assert len(list(events.read_all_items())) == written
                for _number in range(25):
                    events.create_item({"id": str(written), "home": f"h{written}"})
                    written += 1
            server.send_signal(signal.SIGKILL)
