"""`kubectl consumergroup ... --in-pod`, where only the cluster's pods reach hub and storage: one of
the group's pods rewinds it, lists what was put aside and gives it to the handler again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_group import Group, a_group
from support.cluster_manifests import config_map
from support.cluster_release import Release

pytestmark = pytest.mark.timeout(240)

HUB, HOMES_SENSORS, EVENTS = "letters", 5, 100
# Of each home's five readings one is of smoke. Handlers are on threads: a line is one write.
POISON = EVENTS // HOMES_SENSORS
PICKY = """
def handle_event(event, context):
    if b'"smoke"' in event.content:
        raise ValueError("no smoke here")
    print("handled one\\n", end="", flush=True)
"""
PATIENT = """
def handle_event(event, context):
    print("handled one\\n", end="", flush=True)
"""
PLUGIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def group(release: Release) -> Iterator[Group]:
    release.send(HUB, EVENTS)
    release.inside.apply(config_map("letters", {"handler.py": PICKY}))
    delivery = {"onFailure": "deadLetter", "attempts": 1, "backoff": {"firstSeconds": 0.1}}
    handler = {"configMap": "letters", "code": "handler.py:handle_event"}
    with a_group(release, HUB, hub=HUB, handler=handler, delivery=delivery) as group:
        group.until_settled(1, 60)
        yield group


def said(group: Group, *words: str) -> str:
    """What kubectl says, which finds the plugin on the PATH, and itself for `--in-pod`."""
    kubectl = group.kubectl
    path = os.pathsep.join([str(PLUGIN), str(kubectl.program.parent), os.environ["PATH"]])
    ran = subprocess.run(
        [str(kubectl.program), "consumergroup", *words, "-n", kubectl.namespace, "--in-pod"],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PATH": path, "KUBECONFIG": str(kubectl.kubeconfig)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def put_aside(group: Group) -> list[str]:
    found = said(group, "deadletters", "list", group.name, "-o", "json")
    return [json.loads(line)["id"] for line in found.splitlines()]


def handled(group: Group) -> int:
    """How many events the handler of its pod has printed."""
    (pod,) = group.pod_names()
    return group.kubectl.log(f"pod/{pod}").count("handled one\n")


def test_what_was_put_aside_is_listed_shown_and_handled_by_a_pod(group: Group) -> None:
    group.until("what cannot be handled", lambda: len(put_aside(group)) == POISON, 60)
    first = put_aside(group)[0]
    assert "no smoke here" in said(group, "deadletters", "show", group.name, first)
    (before,) = group.pod_names()
    group.kubectl.apply(config_map("letters", {"handler.py": PATIENT}))
    group.until("another pod", lambda: group.pod_names() not in ([before], []), 60)
    group.until_settled(1, 60)
    said(group, "deadletters", "replay", group.name, "--all")
    assert put_aside(group) == []


def test_a_pod_rewinds_its_group_which_then_handles_everything_again(group: Group) -> None:
    before = handled(group)
    said(group, "rewind", group.name, "--to", "earliest")
    group.until("all to be handled again", lambda: handled(group) - before >= EVENTS, 30)
    assert handled(group) - before == EVENTS
