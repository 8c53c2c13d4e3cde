"""A first try, as the pages describe it: the chart, the example of twelve lines, and what one does
with a group from then on. Every step is one that a person takes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from support.cluster_api import until
from support.cluster_group import Group, a_group
from support.cluster_groups import example
from support.cluster_manifests import config_map
from support.cluster_release import KIND, SECRET, Release, event_hubs
from support.tree import ROOT

pytestmark = pytest.mark.timeout(240)

EXAMPLE = ROOT / "examples" / "consumergroup.yaml"
COLUMNS = "NAME SOURCE ENGINE READY WANTED PARTITIONS OWNED LAG BEHIND STATUS AGE DELETED"
MADE = "serviceaccount,configmap,service,deployment,poddisruptionbudget,pod"
EVENTS, HANDLED_WITHIN_S = 1_000, 30.0
PRINTING = """
async def handle(events, context):
    print("{word}", context.partition, len(events), flush=True)
"""


@pytest.fixture(scope="module")
def home(release: Release) -> Iterator[Group]:
    """The group of the example; events are in the hub before it is there."""
    release.send("telemetry", EVENTS)
    group = Group(release, example(EXAMPLE.name)["metadata"]["name"])
    try:
        yield group
    finally:
        group.delete()


def handled(group: Group) -> int:
    """How far the group has come, by its checkpoints and its members' figures."""
    states = group.status().get("partitionStates", ())
    return sum(each.get("sequenceNumber", -1) + 1 for each in states)


def test_the_twelve_lines_of_the_example_handle_what_is_there_within_half_a_minute(
    release: Release, home: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) == 12
    begun = time.monotonic()
    release.inside.said("apply", "--filename", str(EXAMPLE))
    home.until("its pod", home.pod_names, 20)
    appeared = time.monotonic() - begun

    def lines() -> int:
        found = release.inside.tried("logs", *home.pod_names()).stdout.splitlines()
        return sum(int(line.split()[2]) for line in found if line.startswith("partition "))

    home.until("all events to be handled", lambda: lines() >= EVENTS, HANDLED_WITHIN_S)
    took = time.monotonic() - begun
    with capsys.disabled():
        print(
            f"\n{EVENTS} events handled {took:.1f} s after apply, its pod made at {appeared:.1f} s"
        )
    assert took < HANDLED_WITHIN_S
    assert lines() == EVENTS
    assert home.warnings() == [], "a first try that goes well warns of nothing"


def test_one_can_wait_for_it_and_its_row_says_how_it_is(release: Release, home: Group) -> None:
    release.inside.said("wait", "--for=condition=Ready", f"cg/{home.name}", "--timeout=50s")
    home.until("all to be checkpointed", lambda: handled(home) == EVENTS, 30)
    home.until("no lag", lambda: home.status().get("lag") == 0, 40)
    titles, row = release.inside.said("get", "consumergroups", home.name).splitlines()
    assert titles.split() == COLUMNS.split()
    assert row.split()[:9] == [
        home.name, "eventhubs", "python", "1/1", "1", "16", "16", "0", "0s",
    ]  # fmt: skip
    assert row.split()[9] == "Balanced"


def test_kubectl_explains_every_part_of_it(release: Release) -> None:
    said = release.inside.said("explain", "consumergroup.spec.source.eventHubs")
    assert "connectionString" in said and "FIELDS:" in said


def test_it_is_scaled_by_kubectl_scale(home: Group) -> None:
    home.scale(3)
    home.until_settled(3, 60)
    shares = sorted(list(home.owners().values()).count(name) for name in home.pod_names())
    assert shares == [5, 5, 6]
    home.scale(1)
    home.until_settled(1, 60)
    assert home.there()["status"]["replicas"] == 1


def test_a_paused_group_has_no_pods_and_goes_on_where_it_was(home: Group, release: Release) -> None:
    home.patch(paused=True)
    home.until("its pods to go", lambda: not home.pods(), 60)
    home.until("Paused", lambda: home.is_so("Paused"), 10)
    assert home.status()["state"] == "Paused"
    release.send("telemetry", 100)
    home.patch(paused=False)
    home.until("the new events to be handled", lambda: handled(home) == EVENTS + 100, 60)
    home.until_settled(1, 30)


def test_a_change_of_its_handler_is_rolled_out(release: Release) -> None:
    release.send("words", 100)
    release.inside.apply(config_map("words", {"words.py": PRINTING.format(word="first")}))
    handler = {"configMap": "words", "code": "words.py:handle"}
    with a_group(release, "words", hub="words", handler=handler) as group:
        group.until_settled(1, 60)
        (before,) = group.pod_names()
        group.until("the first words", lambda: "first" in release.inside.log(before), 20)
        release.inside.apply(config_map("words", {"words.py": PRINTING.format(word="second")}))
        # A ConfigMap is looked at now and then, as it is named and not watched.
        group.until("another pod", lambda: group.pod_names() not in ([before], []), 60)
        group.until_settled(1, 60)
        assert group.pod_names() != [before]
        # All was checkpointed by the first: the second prints when more comes.
        release.send("words", 100)
        (after,) = group.pod_names()
        group.until("the new words", lambda: "second" in release.inside.log(after), 20)


def test_a_change_of_its_settings_is_rolled_out(release: Release) -> None:
    with a_group(release, "edited", hub="edited") as group:
        group.until_settled(1, 60)
        before = group.pod_names()
        group.patch(source=event_hubs("edited", bufferBytes=33_554_432))
        group.until("another pod", lambda: group.pod_names() not in (before, []), 30)
        group.until_settled(1, 60)
        assert group.events("RollingOut")


def test_what_was_made_for_it_goes_with_it_and_its_ledger_stays(
    home: Group, release: Release
) -> None:
    labels = f"tidegate.dev/group={home.name}"
    assert release.inside.read(MADE, "-l", labels)["items"]
    release.inside.said("delete", KIND, home.name, "--timeout=50s")
    until(
        lambda: not release.inside.read(MADE, "-l", labels)["items"],
        60,
        "all that was made to go",
        home.told,
    )
    # A group of this name goes on where this one stood: there is nothing left to handle.
    with a_group(release, home.name, hub="telemetry", ledger=example(EXAMPLE.name)["spec"]["ledger"]
    ) as again:  # fmt: skip
        again.until_settled(1, 60)
        assert not [
            line for line in release.inside.log(again.pod_names()[0]).splitlines()
            if line.startswith("partition ")
        ]  # fmt: skip
    assert release.inside.tried("get", "secret", SECRET).returncode == 0
