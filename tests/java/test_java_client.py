"""The official Java SDK in a part of the hub's contract: `make test-java` builds it and runs this.

One Java process plays all scenarios that this run of pytest asks for, each on a hub of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest

from contract.hub.line_run import LineRun
from contract.hub.scenarios import KEY_PARTITIONS, SCENARIOS, Scenario
from contract.hub.selection import scenarios_asked_for
from support.tree import ROOT
from tidegate_hub.running import running_hub

BUILT = ROOT / ".tools" / "java"
PROGRAM = [
    # The buffered producer blocks a thread of this pool for each partition while it waits for work
    # of the same pool. Its 10 threads a core do not reach for 24 partitions on two cores.
    "java", "-Dreactor.schedulers.defaultBoundedElasticSize=100",
    "-cp", os.pathsep.join([str(BUILT / "classes"), str(BUILT / "lib" / "*")]),
    "tidegate.contract.Contract",
]  # fmt: skip

# What this client plays of the contract: sending, positions, facts and owner levels.
NAMES = (
    "send_one",
    "send_many",
    "batch_keeps_its_size_limit",
    "link_tells_the_size_limit",
    "too_large_is_refused",
    "partition_key_picks_the_partition",
    "start_at_earliest",
    "start_after_offset",
    "start_after_sequence_number",
    "start_at_sequence_number",
    "start_after_enqueued_time",
    "start_at_enqueued_time",
    "offset_beyond_the_end_is_refused",
    "hub_properties",
    "partition_ids",
    "properties_of_an_empty_partition",
    "properties_of_a_partition",
    "higher_owner_level_steals",
    "equal_owner_level_steals",
    "lower_owner_level_is_refused",
    "unknown_hub_is_refused",
)
# What this client has beside the contract.
BUFFERED = Scenario(
    "a_buffered_producer_sends_by_key",
    "What a buffered producer takes arrives once, in the order of its keys.",
    partitions=24,
)
PLAYED = [*(scenario for scenario in SCENARIOS if scenario.name in NAMES), BUFFERED]


@pytest.fixture(scope="module")
def java_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LineRun]:
    stages = {}
    with running_hub() as hub:
        for scenario in scenarios_asked_for(request, PLAYED):
            name = f"java-{scenario.name}".replace("_", "-")
            hub.add_hub(name, scenario.partitions, groups=scenario.groups)
            stages[scenario.name] = {"connectionString": hub.connection_string, "hub": name}
        told = json.dumps({"stages": stages, "keyPartitions": KEY_PARTITIONS})
        run = LineRun(PROGRAM, tmp_path_factory.mktemp("java") / "stderr.log", told=told)
        yield run
        run.stop()


@pytest.mark.parametrize("scenario", PLAYED, ids=lambda scenario: scenario.name)
def test_the_java_client_keeps_the_contract(scenario: Scenario, java_run: LineRun) -> None:
    java_run.assert_ok(scenario.name)


def test_the_java_client_implements_exactly_these_scenarios_of_the_contract() -> None:
    listed = subprocess.run([*PROGRAM, "--list"], capture_output=True, check=True, timeout=60)
    assert sorted(json.loads(listed.stdout)) == sorted((*NAMES, BUFFERED.name))
    assert len(PLAYED) == len(NAMES) + 1
