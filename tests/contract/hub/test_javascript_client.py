"""The official JavaScript SDK in every scenario of the contract.

One node process runs all scenarios that this run of pytest asks for and prints a line for each;
each pytest case awaits its own line, so failures show one by one.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.eventhub import EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage

from contract.hub.javascript import RUNNER, installed_environment
from contract.hub.scenarios import KEY_PARTITIONS, PROCESSORS, SCENARIOS, Scenario
from contract.hub.selection import scenarios_asked_for
from support.azurite import node_program
from support.wait import wait_until

LINE_SECONDS = 240.0


def _stage(theatre: Any, scenario: Scenario) -> dict[str, Any]:
    """The scenario's hub as the runner wants it told, with a container where it needs one."""
    facts: dict[str, Any] = {
        "connectionString": theatre.server_of(scenario).connection_string,
        "hub": theatre.add_hub("javascript", scenario),
        "alone": scenario.alone,
    }
    if scenario in PROCESSORS:
        blob = theatre.new_container()
        facts["store"] = {
            "connectionString": blob.connection_string,
            "container": blob.container,
        }
    return facts


def _put_event_of_several_sections(stage: dict[str, Any]) -> None:
    """The JavaScript client can read such an event and not send it."""
    producer = EventHubProducerClient.from_connection_string(
        stage["connectionString"], eventhub_name=stage["hub"]
    )
    with producer:
        event = AmqpAnnotatedMessage(data_body=[b"one", b"", b"three" * 100])
        producer.send_batch([event], partition_id="0")


class NodeRun:
    """The node process, and the lines that it has printed so far."""

    def __init__(self, contract: dict[str, Any], errors: Path) -> None:
        self._errors = errors
        self._lines: dict[str, dict[str, Any]] = {}
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [node_program(), str(RUNNER)],
                env={**installed_environment(), "TIDEGATE_CONTRACT": json.dumps(contract)},
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            outcome = json.loads(line)
            self._lines[outcome["name"]] = outcome

    def outcome(self, name: str) -> dict[str, Any]:
        wait_until(
            lambda: name in self._lines or not self._reader.is_alive(),
            LINE_SECONDS,
            f"node to print the outcome of {name}",
            detail=lambda: sorted(self._lines),
        )
        if name not in self._lines:
            words = self._errors.read_text(errors="replace")[-4000:]
            pytest.fail(f"node ended with status {self.process.wait()} before {name}: {words}")
        return self._lines[name]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def node_run(
    theatre: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NodeRun]:
    stages = {one.name: _stage(theatre, one) for one in scenarios_asked_for(request)}
    if "body_of_several_data_sections" in stages:
        _put_event_of_several_sections(stages["body_of_several_data_sections"])
    contract = {"stages": stages, "keyPartitions": KEY_PARTITIONS}
    run = NodeRun(contract, tmp_path_factory.mktemp("node") / "stderr.log")
    yield run
    run.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_javascript_client_keeps_the_contract(scenario: Scenario, node_run: NodeRun) -> None:
    outcome = node_run.outcome(scenario.name)
    assert outcome["ok"], outcome["error"]
