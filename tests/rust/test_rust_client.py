"""The official Rust SDK in a part of the hub's contract: `make test-rust` builds it and runs this.

One Rust process plays all cases that this run of pytest asks for, each on a hub of its own. Two
processors share the SDK's checkpoint store in memory: its store on blobs lags behind this version.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.hub.line_run import LineRun
from contract.hub.ways import TCP, TLS, WSS, Case, cases, cases_asked_for, staged
from support.certificates import make_certificates
from support.tree import ROOT

PROGRAM = [str(ROOT / ".tools" / "rust" / "debug" / "tidegate-contract")]

# What this client plays of the contract. It has WebSockets with TLS alone.
NAMES = (
    "send_one",
    "send_many",
    "partition_key_picks_the_partition",
    "partition_id_picks_the_partition",
    "large_event",
    "start_at_earliest",
    "start_after_offset",
    "start_at_sequence_number",
    "offset_beyond_the_end_is_refused",
    "hub_properties",
    "partition_ids",
    "properties_of_an_empty_partition",
    "properties_of_a_partition",
    "higher_owner_level_steals",
    "equal_owner_level_steals",
    "lower_owner_level_is_refused",
    "unknown_hub_is_refused",
    "checkpoint_and_resume",
    "processors_balance_and_one_dies",
)
BY_EVERY_WAY = (
    "send_many",
    "large_event",
    "start_after_offset",
    "hub_properties",
    "equal_owner_level_steals",
    "processors_balance_and_one_dies",
)
CASES = [*cases(NAMES, TLS), *cases(BY_EVERY_WAY, TCP, WSS)]


def trusting(authority: Path) -> dict[str, str]:
    """The environment of a process that trusts this authority and no other."""
    return {**os.environ, "SSL_CERT_FILE": str(authority)}


@pytest.fixture(scope="module")
def rust_run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LineRun]:
    folder = tmp_path_factory.mktemp("rust")
    with staged("rust", cases_asked_for(request), folder) as (told, authority):
        run = LineRun(PROGRAM, folder / "stderr.log", env=trusting(authority), told=told)
        yield run
        run.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rust_client_keeps_the_contract(case: Case, rust_run: LineRun) -> None:
    rust_run.assert_ok(case.name)


@pytest.mark.parametrize("way", [TLS, WSS])
def test_the_rust_client_refuses_an_authority_that_it_does_not_know(
    way: str, tmp_path: Path
) -> None:
    (case,) = cases(["send_one"], way)
    with staged("rust", [case], tmp_path) as (told, _authority):
        (tmp_path / "other").mkdir()
        other = make_certificates(tmp_path / "other")
        ran = subprocess.run(
            PROGRAM, input=told, env=trusting(other.authority), capture_output=True, text=True,
            check=True, timeout=120,
        )  # fmt: skip
    outcome = json.loads(ran.stdout)
    assert not outcome["ok"]
    assert "certificate" in outcome["error"]


def test_the_rust_client_implements_exactly_these_scenarios_of_the_contract() -> None:
    listed = subprocess.run([*PROGRAM, "--list"], capture_output=True, check=True, timeout=60)
    assert json.loads(listed.stdout) == sorted(NAMES)
