"""Conformance on a hub and storage of the user's own: `make test-conformance`.

They are the chart's, which conformance knows by a group file and a Secret alone.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.cluster_conformance import conformance, until_nothing_is_left
from support.cluster_release import Release, event_hubs, ledger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HUB, PARTITIONS = "tried", 6


def group_file(folder: Path, source: Mapping[str, Any], ledger: Mapping[str, Any]) -> Path:
    """A ConsumerGroup as a user has it."""
    group = {
        "apiVersion": "tidegate.dev/v1alpha1", "kind": "ConsumerGroup",
        "metadata": {"name": "mine"},
        "spec": {"source": source, "ledger": ledger, "handler": {"code": "mine:handle"}},
    }  # fmt: skip
    file = folder / "group.yaml"
    file.write_text(json.dumps(group), encoding="utf-8")
    return file


def test_all_that_can_be_tried_on_a_hub_and_storage_of_ones_own_holds(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = group_file(tmp_path, event_hubs(HUB), ledger("own"))
    ran = conformance(release, tmp_path, "--group-file", str(file), "--minutes", "2.5",
                      "--seed", "1")  # fmt: skip
    with capsys.disabled():
        print(f"\n{ran.told}\n{ran.said}")
    assert ran.code == 0, ran.said + ran.told
    assert ran.held >= {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P11", "P12", "P14"}
    assert ran.report["setting"]["partitions"] == PARTITIONS
    assert "storage of your own is never taken away" in ran.said
    assert f"--group-file {file}" in ran.said
    until_nothing_is_left(release.inside)


def test_a_secret_that_is_not_there_is_named_at_once(release: Release, tmp_path: Path) -> None:
    missing = {"secret": "nobody-made-it", "key": "events"}
    source = {"eventHubs": {"hub": HUB, "connectionString": missing}}
    file = group_file(tmp_path, source, ledger("own"))
    ran = conformance(release, tmp_path, "--group-file", str(file))
    assert ran.code == 1
    assert 'secret "nobody-made-it" not found' in ran.told, ran.told
    until_nothing_is_left(release.inside)


def test_a_hub_that_refuses_the_agent_is_said_with_the_rights_that_it_needs(
    release: Release, tmp_path: Path
) -> None:
    wrong = release.secret("events").replace("//tidegate-hub", "//no-hub-here")
    secret = {
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "wrong", "namespace": release.namespace},
        "data": {"events": base64.b64encode(wrong.encode()).decode()},
    }  # fmt: skip
    release.inside.apply(secret)
    source = {"eventHubs": {"hub": HUB, "connectionString": {"secret": "wrong", "key": "events"}}}
    file = group_file(tmp_path, source, ledger("own"))
    ran = conformance(release, tmp_path, "--group-file", str(file))
    assert ran.code == 1
    assert f"cannot send to hub {HUB}; its connection string needs the rights" in ran.told, ran.told
    until_nothing_is_left(release.inside)
