"""The official JavaScript SDK in every scenario of the contract.

One node process runs all scenarios that this run of pytest asks for and prints a line for each;
each pytest case awaits its own line, so failures show one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from azure.eventhub import EventHubProducerClient
from azure.eventhub.amqp import AmqpAnnotatedMessage

from contract.hub.javascript import RUNNER, installed_environment
from contract.hub.line_run import LineRun
from contract.hub.scenarios import KEY_PARTITIONS, PROCESSORS, SCENARIOS, Scenario
from contract.hub.selection import scenarios_asked_for
from support.azurite import node_program


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


@pytest.fixture(scope="module")
def node_run(
    theatre: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LineRun]:
    stages = {one.name: _stage(theatre, one) for one in scenarios_asked_for(request)}
    if "body_of_several_data_sections" in stages:
        _put_event_of_several_sections(stages["body_of_several_data_sections"])
    contract = {"stages": stages, "keyPartitions": KEY_PARTITIONS}
    run = LineRun(
        [node_program(), str(RUNNER)],
        tmp_path_factory.mktemp("node") / "stderr.log",
        env={**installed_environment(), "TIDEGATE_CONTRACT": json.dumps(contract)},
    )
    yield run
    run.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_javascript_client_keeps_the_contract(scenario: Scenario, node_run: LineRun) -> None:
    node_run.assert_ok(scenario.name)
