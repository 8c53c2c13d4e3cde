"""What an API server refuses of a ConsumerGroup, and what it says to write instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster_groups import Document, changed, control_plane_with_groups, example
from support.cluster_kubectl import Kubectl
from support.cluster_refusals import (
    IN_A_CONTAINER,
    REFUSED_OF_COSMOS,
    REFUSED_OF_COSMOS_ON_SPARK,
    UNCHANGEABLE_OF_COSMOS,
)
from tidegate.spark.owned_keys import by_reason
from tidegate_operator.spec_rules import BOUNDS, NAME_RULE, RULES

SHORT = example("consumergroup.yaml")
BY_IDENTITY = example("workload-identity.yaml")
HUB, LEDGER = "spec.source.eventHubs", "spec.ledger"
OF_A_SECRET = {"secret": "home", "key": "events"}

# What is written at which place, and what is said of it.
REFUSED: list[tuple[str, Any, str]] = [
    ("metadata.name", "Alarms", "a lowercase RFC 1123 subdomain"),
    ("metadata.name", "7-alarms", "a letter first: its Service and its pods are called so"),
    ("metadata.name", "a" * 53, "name the group with at most 52 lower-case letters"),
    ("metadata.name", "a.b", "name the group with at most 52 lower-case letters"),
    ("spec.source", {}, "write one source: eventHubs"),
    (f"{HUB}.namespace", "n.example", "write either connectionString: {secret: NAME, key: KEY} or"),
    (f"{HUB}.connectionString", None, "or namespace: NAME.servicebus.windows.net"),
    (HUB, {"hub": "h", "namespace": "n.example", "transport": "sdk"},
     "transport sdk reads with a connectionString"),
    (HUB, {"hub": "h", "namespace": "sb://n.example/"}, "write the host alone, such as NAME"),
    (f"{HUB}.hub", "a/b", "spec.source.eventHubs.hub"),
    (f"{HUB}.connectionString", {}, "write one of secret: NAME with key: KEY, env: NAME or file:"),
    (f"{HUB}.connectionString", {**OF_A_SECRET, "env": "EVENTS"},
     "write one of secret: NAME with key: KEY"),
    (f"{HUB}.connectionString", {"secret": "home"}, "secret: NAME and key: KEY go together"),
    (f"{HUB}.connectionString", {"env": "EVENTS", "key": "events"}, "go together"),
    (f"{HUB}.connectionString", "Endpoint=sb://x", "must be of type object"),
    (f"{HUB}.start", "newest", 'supported values: "latest", "earliest"'),
    (f"{HUB}.start", 5, "spec.source.eventHubs.start"),
    (f"{HUB}.start", True, "spec.source.eventHubs.start"),
    (f"{HUB}.start", ["latest"], "spec.source.eventHubs.start"),
    (f"{HUB}.start", {"offset": "4096"}, "spec.source.eventHubs.start"),
    (f"{LEDGER}.container", "Ledger", "write 3 to 63 lower-case letters, digits and single dashes"),
    (f"{LEDGER}.accountUrl", "https://a.example", "or accountUrl: https://NAME.blob.core"),
    (f"{LEDGER}.sasToken", OF_A_SECRET, "accountKey and sasToken go with accountUrl"),
    (LEDGER, {"container": "ledger", "accountUrl": "https://a.example", "sasToken": OF_A_SECRET,
              "accountKey": OF_A_SECRET}, "write accountKey or sasToken, not both"),
    (LEDGER, {"container": "ledger", "accountUrl": "http://a.example"},
     "an identity's tokens are sent over https only"),
    (LEDGER, {"container": "ledger", "accountUrl": "a.example"}, "write a URL such as https://NAME"),
    (LEDGER, {"container": "ledger", "accountUrl": "https://a.example?sig=x"},
     "write the URL without a SAS, and the SAS as sasToken"),
    (f"{LEDGER}.leaseSeconds", 5, "should be greater than or equal to 15"),
    (f"{LEDGER}.leaseSeconds", 15.5, "should be a multiple of 1"),
    (f"{LEDGER}.onDelete", "Purge", 'supported values: "Keep", "Delete"'),
    ("spec.spark", {}, "spark is for engine: spark; write that, or leave spark out"),
    ("spec.handler.code", "alarms.py", "write file.py:function or package.module:function"),
    ("spec.delivery", {"backoff": {"firstSeconds": 60}}, "mostSeconds is below firstSeconds"),
    ("spec.delivery", {"checkpoint": {"duplicateBudget": 5, "everyEvents": 5}},
     "write duplicateBudget or everyEvents, not both"),
    ("spec.delivery", {"deadLetters": {"blob": {}, "eventHub": {"hub": "h"}}},
     "write one of blob, eventHub and cosmos"),
    ("spec.delivery", {"deadLetters": {"blob": {"container": "x"}}},
     "write 3 to 63 lower-case letters"),
    ("spec.delivery", {"attempts": 0}, "should be greater than or equal to 1"),
    ("spec.delivery", {"timeoutSeconds": 0}, "should be greater than 0"),
    ("spec.delivery", {"onFailure": "drop"}, 'supported values: "retry", "deadLetter", "halt"'),
    ("spec.scaling", {"min": 4, "max": 2}, "scaling.min is above scaling.max: lower the one or"),
    ("spec.scaling", {"min": 20}, "scaling.min is above scaling.max"),
    ("spec.scaling", {"max": 4, "fallback": {"replicas": 5}},
     "scaling.fallback.replicas is above scaling.max"),
    ("spec.scaling",
     {"max": 4, "cron": [{"start": "0 8 * * *", "end": "0 9 * * *", "replicas": 5}]},
     "a number of scaling.cron is above scaling.max"),
    ("spec.scaling", {"objective": {"within": "60s", "lagPerReplica": 5}},
     "write one of within, drainWithin and lagPerReplica"),
    ("spec.scaling", {"objective": {}}, "write one of within, drainWithin and lagPerReplica"),
    ("spec.scaling", {"objective": {"within": "60"}}, "spec.scaling.objective.within"),
    ("spec.replicas", 17, "replicas is to be within scaling.min and scaling.max"),
    ("spec.replicas", 0, "to stop the group, write paused: true"),
    ("spec.pausedReplicas", 17, "pausedReplicas is above scaling.max: write fewer, or raise that"),
    ("spec.pausedPartitions", ["3", "3"], "Duplicate value"),
    ("spec.pins", {"3": 4}, "must be of type string"),
    ("spec.engine", "flink", 'supported values: "python", "spark"'),
    ("spec", {**BY_IDENTITY["spec"], "serviceAccountName": "mine"},
     "leave out serviceAccountName, or annotate your own"),
    ("spec", {**BY_IDENTITY["spec"], "delivery": {"deadLetters": {"eventHub": {"hub": "poison"}}}},
     "connectionString is needed where the source has none: write {secret: NAME, key: KEY}"),
    ("spec.template", {"spec": []}, "must be of type object"),
]  # fmt: skip

# The same in a group on Spark. Of each reason for which a setting of Spark's is ours: every key.
REFUSED_ON_SPARK: list[tuple[str, Any, str]] = [
    ("spec.template", {"spec": {}}, "write spark.driver.template and spark.executor.template"),
    (f"{HUB}.transport", "sdk", "Spark reads by transport native alone: leave transport out"),
    ("spec.delivery", {"checkpoint": {"byHand": True}},
     "with Spark a batch is handled when it has ended well: leave byHand out"),
    ("spec.spark", {"driver": {"memory": "1G"}}, "spec.spark.driver.memory"),
    ("spec.spark", {"deps": {"packages": ["a:b"]}}, "spec.spark.deps.packages"),
    ("spec.spark", {"output": {"container": "X"}}, "write 3 to 63 lower-case letters"),
    ("spec.spark", {"sparkConf": {"fs.defaultFS": "x"}}, "settings of Spark begin with 'spark.'"),
    *(
        ("spec.spark", {"sparkConf": {"spark.a": "1", key.replace("*", "x"): "1"}},
         f"'{key.replace('*', 'x')}' is not yours to set: {why}")
        for why, keys in by_reason().items()
        for key in keys
    ),
]  # fmt: skip

# What is changed to what, in a group that is there.
UNCHANGEABLE: list[tuple[str, Any, str]] = [
    (f"{HUB}.hub", "other", "the hub cannot be changed: positions mean nothing there"),
    (f"{HUB}.consumerGroup", "other", "the consumer group cannot be changed"),
    (f"{LEDGER}.container", "other", "the ledger's container cannot be changed"),
    ("spec.engine", "spark", "the engine cannot be changed: delete the group, which"),
]
UNCHANGEABLE_BY_IDENTITY: list[tuple[str, Any, str]] = [
    (f"{HUB}.namespace", "other.example", "the namespace cannot be changed"),
    (f"{LEDGER}.accountUrl", "https://b.example", "the ledger's account cannot be changed"),
]


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane with two groups, which no test changes."""
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with control_plane_with_groups(kube_programs, folder) as kubectl:
        kubectl.apply(SHORT, BY_IDENTITY, IN_A_CONTAINER)
        yield kubectl


def refusal(api: Kubectl, document: Document) -> str:
    return api.refusal("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(document))


@pytest.mark.parametrize(("path", "value", "said"), [*REFUSED, *REFUSED_OF_COSMOS])
def test_what_cannot_work_is_refused_and_what_to_write_is_said(
    api: Kubectl, path: str, value: Any, said: str
) -> None:
    document = changed(SHORT, "metadata.name", "new")
    assert said in refusal(api, changed(document, path, value))


@pytest.mark.parametrize(
    ("path", "value", "said"), [*REFUSED_ON_SPARK, *REFUSED_OF_COSMOS_ON_SPARK]
)
def test_what_cannot_work_on_spark_is_refused_and_what_to_write_is_said(
    api: Kubectl, path: str, value: Any, said: str
) -> None:
    document = changed(changed(SHORT, "metadata.name", "new"), "spec.engine", "spark")
    assert said in refusal(api, changed(document, path, value))


@pytest.mark.parametrize("name", ["spark.yaml", "everything-on-spark.yaml"])
def test_an_example_on_spark_is_taken(api: Kubectl, name: str) -> None:
    document = changed(example(name), "metadata.name", "new")
    api.said("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(document))


@pytest.mark.parametrize(
    ("group", "path", "value", "said"),
    [
        *((SHORT, *each) for each in UNCHANGEABLE),
        *((BY_IDENTITY, *each) for each in UNCHANGEABLE_BY_IDENTITY),
        *((IN_A_CONTAINER, *each) for each in UNCHANGEABLE_OF_COSMOS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_it_another_group_cannot_be_changed(
    api: Kubectl, group: Document, path: str, value: Any, said: str
) -> None:
    told = refusal(api, changed(group, path, value))
    assert f"{path}: Forbidden: {said}" in told


def test_every_rule_with_words_of_its_own_is_proved_here() -> None:
    messages = {rule.message for rules in RULES.values() for rule in rules} | {NAME_RULE.message}
    for bounds in BOUNDS.values():
        messages |= {rule["message"] for rule in bounds.get("x-kubernetes-validations", ())}
    proved = (
        *REFUSED, *REFUSED_ON_SPARK, *UNCHANGEABLE, *UNCHANGEABLE_BY_IDENTITY,
        *REFUSED_OF_COSMOS, *REFUSED_OF_COSMOS_ON_SPARK, *UNCHANGEABLE_OF_COSMOS,
    )  # fmt: skip
    said = [each[2].rpartition("yours to set: ")[2] for each in proved]
    assert [each for each in messages if not any(part in each for part in said)] == []


def test_a_key_that_is_not_known_is_refused(api: Kubectl) -> None:
    assert 'unknown field "spec.replica"' in refusal(api, changed(SHORT, "spec.replica", 4))
