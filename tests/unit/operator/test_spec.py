"""What a ConsumerGroup asks for, typed, and the group file that its consumers get."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from support.cluster_groups import Document, example
from tidegate.group_file.names import camel_name
from tidegate.group_file.reading import read_group
from tidegate.group_file.spark_spec import EngineKind
from tidegate.group_file.spec import OPERATORS, FileSpec, HandlerSpec, LedgerSpec, Secret
from tidegate.settings import SettingsError
from tidegate_operator.model import Wish
from tidegate_operator.scaling import Floor, Mode, Policy
from tidegate_operator.spec import (
    OnDelete,
    OperatedHandler,
    OperatedLedger,
    OperatorSpec,
    read_spec,
    read_spec_and_newer,
    secrets_of,
    wish_of,
)
from tidegate_operator.spec_group_file import group_document

SHORT = example("consumergroup.yaml")
EVERYTHING = example("everything.yaml")
ON_SPARK = example("everything-on-spark.yaml")


def with_spec(**changes: Any) -> Document:
    document = copy.deepcopy(SHORT)
    document["spec"] |= changes
    return document


def problem(document: Document) -> str:
    with pytest.raises(SettingsError) as raised:
        read_spec(document)
    return str(raised.value)


def test_a_key_of_a_newer_version_is_passed_over_and_named() -> None:
    """An API server takes no key that its kind does not have: its kind is newer than this."""
    ledger = {**SHORT["spec"]["ledger"], "tierSeconds": 3}
    spec, newer = read_spec_and_newer(with_spec(ledger=ledger, calm=True))
    assert spec == read_spec(SHORT)
    assert newer == ("spec.calm", "spec.ledger.tierSeconds")


def test_the_short_example_gets_the_defaults() -> None:
    spec = read_spec(SHORT)
    assert spec.source.hubs.hub == "telemetry"
    assert spec.ledger.connection_string == Secret(secret="tidegate-embedded", key="storage")
    assert (spec.ledger.on_delete, spec.handler.config_map) == (OnDelete.KEEP, None)
    assert (spec.engine, spec.replicas, spec.paused) == (EngineKind.PYTHON, None, False)
    assert (spec.scaling.min, spec.scaling.max, spec.scaling.mode) == (1, 16, Mode.AUTO)
    assert (spec.pins, spec.paused_partitions, spec.template) == ({}, (), None)


def test_everything_can_be_written() -> None:
    spec = read_spec(EVERYTHING)
    assert spec.source.hubs.start.kind == "time"
    assert spec.handler.config_map == "alarms-handler"
    assert spec.service_account_annotations["azure.workload.identity/client-id"].startswith("0000")
    assert spec.template is not None
    assert spec.template["spec"]["containers"][0]["resources"]["limits"] == {"memory": "512Mi"}
    assert spec.template["metadata"] == EVERYTHING["spec"]["template"]["metadata"]


@pytest.mark.parametrize("timeout_s", [1, 300, 3600])
def test_no_partition_stands_still_before_its_member_can_say_that_its_handler_fails(
    timeout_s: int,
) -> None:
    """Which it says from the third call on, where each of them hangs."""
    delivery = {"timeoutSeconds": timeout_s, "backoff": {"mostSeconds": 60}}
    spec = read_spec(with_spec(delivery=delivery))
    calls_s = 3 * (timeout_s + spec.delivery.told_s) + 2 * 60
    assert wish_of(spec).still_limit_s >= calls_s + 30


def test_what_the_user_wants_of_the_size() -> None:
    short, everything = wish_of(read_spec(SHORT)), wish_of(read_spec(EVERYTHING))
    assert short == Wish(
        min_replicas=1,
        max_replicas=16,
        scaling=Policy(within_s=60.0),
        hand_over_limit_s=320.0,
        still_limit_s=1020.0,
    )
    assert everything.scaling == Policy(
        floors=(Floor("0 8 * * 1-5", "0 18 * * 1-5", 4, "Europe/Berlin"),), fallback=4
    )
    assert everything == Wish(
        scaling=everything.scaling,
        still_limit_s=everything.still_limit_s,
        min_replicas=1,
        max_replicas=16,
        replicas=4,
        pins={"3": "alarms-7d9c6b5f4-x2x8k"},
        paused_partitions=frozenset({"15"}),
    )
    paused = wish_of(read_spec(with_spec(paused=True, pausedReplicas=2)))
    assert (paused.is_paused, paused.paused_replicas) == (True, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scaling": {"min": 4, "max": 2}}, "spec.scaling: scaling.min is above scaling.max"),
        ({"replicas": 17}, "spec: replicas is to be within scaling.min and scaling.max"),
        ({"replicas": 0}, "to stop the group, write paused: true"),
        ({"pausedReplicas": 17}, "spec: pausedReplicas is above scaling.max"),
        ({"replicas": "4"}, "spec.replicas: write a whole number, not '4'"),
        ({"engine": "flink"}, "spec.engine: write one of python, spark, not 'flink'"),
        ({"pins": ["3"]}, "spec.pins: write keys and values, not a list"),
        ({"pins": {"3": 4}}, "spec.pins.3: write a text, in quotes: not '4'"),
        ({"pausedPartitions": [3]}, "spec.pausedPartitions.0: write a text, in quotes: not '3'"),
        ({"pausedPartitions": "3"}, "spec.pausedPartitions: write a list, not '3'"),
        ({"serviceAccountName": "mine", "serviceAccountAnnotations": {"a": "b"}},
         "leave out serviceAccountName, or annotate your own"),
        ({"source": {"cosmos": {}}}, "spec.source.cosmos.database is missing"),
        ({"source": {}}, "spec.source: write one source: eventHubs: {hub: NAME"),
        ({"source": {"cosmos": {"database": "d", "container": "c"}}},
         "spec.source.cosmos: write either connectionString or endpoint"),
        ({"source": {"cosmos": {"database": "d", "container": "c", "endpoint": "https://a",
                                "mode": "allVersionsAndDeletes", "start": "earliest"}}},
         "spec.source.cosmos: allVersionsAndDeletes can begin at latest alone"),
        ({"ledger": {"container": "ledger", "onDelete": "Purge"}},
         "spec.ledger.onDelete: write one of Keep, Delete, not 'Purge'"),
        ({"source": {"eventHubs": {"hub": "h", "namespace": "n"}},
          "delivery": {"deadLetters": {"eventHub": {"hub": "poison"}}}},
         "connectionString is needed where the source has none"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said_as_of_a_file_but_without_a_line(
    changes: Document, said: str
) -> None:
    told = problem(with_spec(**changes))
    assert said in told
    assert told.startswith("spec")


def test_a_null_is_a_key_that_is_left_out() -> None:
    assert read_spec(with_spec(template=None, replicas=None)) == read_spec(SHORT)


def test_every_secret_is_known_by_its_name() -> None:
    assert secrets_of(read_spec(SHORT)) == {"tidegate-embedded": {"events", "storage"}}
    assert secrets_of(read_spec(EVERYTHING)) == {"home": {"events", "sas"}}
    source = {"eventHubs": {"hub": "h", "connectionString": {"env": "EVENTS"}}}
    of_environment = with_spec(source=source, ledger={"container": "c", "accountUrl": "https://a"})
    assert secrets_of(read_spec(of_environment)) == {}


# --- the keys of a consumer, and the operator's


def test_a_consumer_passes_over_exactly_the_operators_keys() -> None:
    for path, operators, consumers in (
        ("spec", OperatorSpec, FileSpec),
        ("spec.ledger", OperatedLedger, LedgerSpec),
        ("spec.handler", OperatedHandler, HandlerSpec),
    ):
        of_consumers = {each.name for each in fields(consumers)}
        ours = {camel_name(each.name) for each in fields(operators)}
        ours -= {camel_name(name) for name in of_consumers}
        assert set(OPERATORS[path]) == ours


@pytest.mark.parametrize(
    "document", [SHORT, EVERYTHING, ON_SPARK], ids=["short", "everything", "on spark"]
)
def test_a_consumer_reads_from_its_group_file_what_was_asked_for(document: Document) -> None:
    spec = read_spec(document)
    group = read_group(group_document("home", spec), "group.yaml")
    assert group.name == "home"
    assert group.spec.delivery.checkpoint == spec.delivery.checkpoint
    assert group.spec.delivery.backoff == spec.delivery.backoff
    assert group.spec.source.hubs.start == spec.source.hubs.start
    assert group.spec.ledger.create == spec.ledger.create
    assert group.spec.handler.code == spec.handler.code
    # Again as the operator reads it: nothing else than the places of the secrets has changed.
    again = read_spec(yaml.safe_load(group_document("home", spec)))
    assert group_document("home", again) == group_document("home", spec)


def test_secrets_are_files_of_the_pod_and_the_operators_keys_are_not_there() -> None:
    text = group_document("alarms", read_spec(EVERYTHING))
    written = yaml.safe_load(text)["spec"]
    assert written["ledger"]["sasToken"] == {"file": "/etc/tidegate/secrets/home/sas"}
    assert written["delivery"]["deadLetters"]["eventHub"]["connectionString"] == {
        "file": "/etc/tidegate/secrets/home/events"
    }
    assert set(written) == {"source", "ledger", "handler", "delivery"}
    assert "onDelete" not in text
    assert "configMap" not in text


def test_the_text_is_as_short_as_the_wish() -> None:
    assert (
        group_document("home-activity", read_spec(SHORT))
        == """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata:
  name: home-activity
spec:
  source:
    eventHubs:
      hub: telemetry
      connectionString:
        file: /etc/tidegate/secrets/tidegate-embedded/events
      start: earliest
  ledger:
    container: ledger
    connectionString:
      file: /etc/tidegate/secrets/tidegate-embedded/storage
    create: true
  handler:
    code: tidegate.handlers.printing:handle
"""
    )


def test_defaults_that_somebody_filled_in_and_the_order_of_keys_change_no_text() -> None:
    text = group_document("home-activity", read_spec(SHORT))
    filled = copy.deepcopy(SHORT)
    filled["spec"]["source"]["eventHubs"] |= {"consumerGroup": "$Default", "webSockets": False}
    filled["spec"]["ledger"] |= {"leaseSeconds": 15, "onDelete": "Keep"}
    filled["spec"] |= {"scaling": {"max": 3}, "replicas": 2, "delivery": {"attempts": 5}}
    filled["spec"] = dict(reversed(filled["spec"].items()))
    assert group_document("home-activity", read_spec(filled)) == text


@given(
    st.one_of(
        st.just("latest"),
        st.just("earliest"),
        st.datetimes(timezones=st.just(None)).map(lambda at: {"time": at.isoformat() + "Z"}),
        st.integers(0, 2**62).map(lambda number: {"sequenceNumber": number}),
        st.integers(0, 2**62).map(lambda number: {"offset": str(number), "sequenceNumber": 1}),
    )
)
def test_a_start_reads_back_as_it_was(written: Any) -> None:
    document = copy.deepcopy(SHORT)
    document["spec"]["source"]["eventHubs"]["start"] = written
    spec = read_spec(document)
    group = read_group(group_document("home", spec), "group.yaml")
    assert group.spec.source.hubs.start == spec.source.hubs.start
