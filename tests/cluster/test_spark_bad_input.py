"""What a person gets wrong with a group on Spark is said in a condition that says what to do.

Wants the image of Spark on the cluster: `make cluster SPARK=1`.
"""

from __future__ import annotations

import re

import pytest
from azure.storage.blob import ContainerClient

from support.cluster_api import Document
from support.cluster_group import groups
from support.cluster_groups import example
from support.cluster_manifests import config_map
from support.cluster_release import Release, event_hubs, ledger
from support.cluster_spark import SMALL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOLD_WITHIN_S = 240.0
# What somebody gets wrong: by the name of the group, its pipeline, the conditions of which one has
# to say it, its reasons, and what its message has to hold: what is wrong, and what to do.
BAD: dict[str, tuple[str, dict[str, set[str]], tuple[str, ...]]] = {
    "no-import": (
        "import nothing_of_this_name\n",
        {"Ready": {"HandlerNotImported"}},
        ("nothing_of_this_name", "ConfigMap of spec.handler"),
    ),
    "failing": (
        "def pipeline(df, context):\n"
        "    if df.where('sequence = 3').count(): raise ValueError('the third is of no use')\n",
        {"Stuck": {"PipelineFails"}},
        ("the third is of no use (pipeline.py, line 2)", "spec.delivery.onFailure: deadLetter"),
    ),
    "hungry": (
        "def pipeline(df, context):\n"
        "    df.selectExpr('size(sequence(1L, 400000000L + sequence))').collect()\n",
        {"Ready": {"OutOfMemory"}, "Stuck": {"BatchesFail"}},
        ("Raise spec.spark.executor.memory",),
    ),
}


def bad_group(release: Release, name: str, pipeline: str, **spec: object) -> Document:
    """A group of the example with this pipeline; its hub and its ledger have its name."""
    document = example("spark.yaml")
    document["metadata"] = {"name": name}
    code = config_map(f"{name}-pipeline", {"pipeline.py": pipeline})
    release.inside.apply(code)
    conf = {**SMALL["sparkConf"], "spark.task.maxFailures": "1"}
    document["spec"] |= {
        "source": event_hubs(name), "ledger": ledger(name), "spark": {**SMALL, "sparkConf": conf},
        "handler": {"configMap": f"{name}-pipeline", "code": "pipeline.py:pipeline"}, **spec,
    }  # fmt: skip
    return document


@pytest.mark.parametrize("name", BAD)
def test_what_somebody_gets_wrong_is_a_condition_that_says_what_to_do(
    release: Release, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline, reasons, words = BAD[name]
    document = bad_group(release, name, pipeline)
    release.send(name, 60)
    with groups(release, document) as (group,):

        def is_told() -> bool:
            found = {kind: group.condition(kind) for kind in reasons}
            return any(
                each.get("reason") in reasons[kind]
                and all(word in each["message"] for word in words)
                for kind, each in found.items()
            )

        group.until(f"{name} to be told", is_told, TOLD_WITHIN_S)
        with capsys.disabled():
            print(f"\n{name}: told {group.age_s:.0f} s after apply")


def test_events_that_a_pipeline_cannot_handle_are_put_aside_and_the_others_are_handled(
    release: Release, storage: str
) -> None:
    name, delivery = "aside", {"onFailure": "deadLetter", "attempts": 1}
    document = bad_group(release, name, BAD["failing"][0], delivery=delivery)
    release.send(name, 60)
    with (
        groups(release, document) as (group,),
        ContainerClient.from_connection_string(storage, "aside") as blobs,
    ):

        def is_passed() -> bool:
            status = group.status()
            return status.get("lag") == 0 and "lastBatch" in (status.get("spark") or {})

        group.until("all to be passed", is_passed, TOLD_WITHIN_S)
        letters = [row.name for row in blobs.list_blobs("deadletters/")]
        behind = [each["sequenceNumber"] for each in group.status()["partitionStates"]]
    # One of each partition that has come so far, and no other.
    assert len(letters) == len([last for last in behind if last >= 3]) > 0
    assert {int(re.findall(r"\d+", letter)[-1]) for letter in letters} == {3}
