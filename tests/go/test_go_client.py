"""The official Go SDK in a part of the hub's contract: `make test-go` builds it and runs this.

One Go process plays all cases that this run of pytest asks for, each on a hub of its own. Its two
processors that share a checkpoint store on Azurite are in processes of their own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from contract.hub.line_run import LineRun
from contract.hub.ways import (
    TCP,
    TLS,
    UNKNOWN_AUTHORITY,
    WS,
    WSS,
    Case,
    cases,
    cases_asked_for,
    staged,
)
from support.tree import ROOT

PROGRAM = [str(ROOT / ".tools" / "go" / "contract")]

# What this client plays of the contract.
NAMES = (
    "send_one",
    "send_many",
    "batch_keeps_its_size_limit",
    "link_tells_the_size_limit",
    "partition_key_picks_the_partition",
    "partition_id_picks_the_partition",
    "large_event",
    "content_type_and_ids",
    "application_properties",
    "start_at_earliest",
    "start_at_latest",
    "start_after_offset",
    "start_at_offset",
    "start_after_sequence_number",
    "start_at_sequence_number",
    "start_at_enqueued_time",
    "offset_beyond_the_end_is_refused",
    "sequence_number_beyond_the_end_is_refused",
    "hub_properties",
    "partition_ids",
    "properties_of_an_empty_partition",
    "properties_of_a_partition",
    "groups_are_independent",
    "higher_owner_level_steals",
    "equal_owner_level_steals",
    "lower_owner_level_is_refused",
    "no_owner_level_is_refused_beside_one",
    "unknown_hub_is_refused",
    "unknown_group_is_refused",
    "unknown_partition_is_refused",
    "bad_key_is_refused",
    "checkpoint_and_resume",
    "processors_balance_and_one_dies",
)
# What every other way has to carry: many events, large frames, requests, positions, a theft, and
# processors.
BY_EVERY_WAY = (
    "send_many",
    "large_event",
    "start_after_offset",
    "hub_properties",
    "equal_owner_level_steals",
    "processors_balance_and_one_dies",
)
CASES = [
    *cases(NAMES, TCP),
    *cases(BY_EVERY_WAY, TLS, WS, WSS),
    *cases([UNKNOWN_AUTHORITY.name], TLS, WSS),
]


@pytest.fixture(scope="module")
def go_run(
    request: pytest.FixtureRequest, azurite: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LineRun]:
    folder = tmp_path_factory.mktemp("go")
    with staged("go", cases_asked_for(request), folder, azurite) as (told, _authority):
        run = LineRun(PROGRAM, folder / "stderr.log", told=told)
        yield run
        run.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_go_client_keeps_the_contract(case: Case, go_run: LineRun) -> None:
    go_run.assert_ok(case.name)


def test_the_go_client_implements_exactly_these_scenarios_of_the_contract() -> None:
    listed = subprocess.run([*PROGRAM, "--list"], capture_output=True, check=True, timeout=60)
    assert json.loads(listed.stdout) == sorted((*NAMES, UNKNOWN_AUTHORITY.name))
