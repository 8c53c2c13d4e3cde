"""What other autoscalers are told of a group: its figures, and never a 0 for what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate.model import Figures
from tidegate_operator.model import Ends, Wish
from tidegate_operator.outside import outside_of, why_unknown
from tidegate_operator.page.shown import row_of
from tidegate_operator.plugin.explaining import as_document, explain, page
from tidegate_operator.scaling import Policy
from tidegate_operator.waiting import behind_s
from unit.operator.looked_at import Looks, end, figures, stored
from unit.operator.observed import NOW, Seen, group


def reading(**facts: Any) -> Seen:
    """Two members that read four partitions, each 100 events long."""
    seen = group(2, 4, asked_before_s=0.0, **facts)
    for partition, owner in seen.owners.items():
        stored(seen, partition, 90, enqueued_at=NOW - 30)
        figures(seen, owner, partition, Figures(end=99, handled=95, behind_s=1.5))
    return seen


def document(looks: Looks, **spec: Any) -> dict[str, Any]:
    """The ConsumerGroup, with the status that the operator writes."""
    metadata = {"namespace": "default", "name": "home"}
    return {"metadata": metadata, "spec": spec, "status": dict(looks.look().told)}


def test_a_group_that_reads_is_told_in_figures() -> None:
    assert outside_of(document(Looks(reading()))).document() == {
        "lagEvents": 16,
        "lagSeconds": 1.5,
        "lagKind": "exact",
        "replicas": 2,
        "ready": 2,
        "partitions": 4,
        "unread": 0,
    }


def test_what_is_wanted_is_what_the_operator_would_decide_and_not_what_somebody_has_set() -> None:
    made = document(Looks(reading()))
    made["status"] |= {"wanted": 7, "scaling": {"wanted": 3}}
    assert outside_of(made).wanted == 3
    del made["status"]["scaling"]
    assert "wanted" not in outside_of(made).document()


def test_the_time_to_drain_is_that_of_the_console_and_of_the_commands() -> None:
    made = document(Looks(reading()))
    made["status"]["scaling"] = {"lag": 16, "arriving": 2.0, "handling": 10.0}
    assert outside_of(made).drain_s == row_of(made)["drainSeconds"] == 2.0
    explained = explain(made | {"spec": {}}, Policy(), NOW)
    assert as_document(explained)["drainSeconds"] == 2.0
    assert "at this pace nothing waits after 2" in "\n".join(page(explained))
    made["status"]["scaling"]["handling"] = 1.0
    assert "drainSeconds" not in outside_of(made).document()
    assert as_document(explain(made | {"spec": {}}, Policy(), NOW))["drainSeconds"] is None


def test_a_partition_in_which_nothing_waits_says_nothing_of_the_others() -> None:
    made = document(Looks(reading()))
    first, *others = made["status"]["partitionStates"]
    first.pop("behindSeconds")
    for each in others:
        each.update(lag=0, behindSeconds=0.0)
    assert outside_of(made).lag_s is None


def test_a_group_without_consumers_is_told_by_what_its_source_says() -> None:
    seen = group(0, 2, wish=Wish(replicas=0))
    stored(seen, "0", 90, enqueued_at=NOW - 30)
    stored(seen, "1", 50, enqueued_at=NOW - 30)
    looks = Looks(seen, ends=Ends({"0": end(99), "1": end(50)}))
    told = outside_of(document(looks))
    assert (told.lag_events, told.lag_s, told.lag_kind) == (9, 30.0, "exact")
    assert (told.replicas, told.ready, told.unread) == (0, 0, 0), "nobody should read"


def test_a_lag_of_which_a_part_is_not_known_is_not_known() -> None:
    seen = reading()
    member = seen.members["m0"]
    seen.members["m0"] = replace(member, figures={**member.figures, "0": Figures(handled=95)})
    made = document(Looks(seen))
    assert made["status"]["lag"] == 12
    told = outside_of(made)
    assert (told.lag_events, told.lag_s, told.lag_kind) == (None, None, "unknown")
    assert "lagEvents" not in told.document()
    assert why_unknown(made) == "the lag of 1 of 4 partitions is not known"


@pytest.mark.parametrize("age_s", [61.0, 3600.0])
def test_a_lag_that_is_old_is_not_known(age_s: float) -> None:
    made = document(Looks(replace(reading(), asked_before_s=age_s)).fail("LedgerUnreachable"))
    assert outside_of(made).lag_events is None
    assert "LedgerUnreachable: What, to whom. Do this." in why_unknown(made)


def test_figures_of_an_operator_before_are_not_told_where_the_next_cannot_look() -> None:
    """They may be an hour old."""
    looks = Looks(reading()).look()
    looks.restart().seen.has_ledger = False
    made = document(looks.fail("SecretMissing"))
    assert outside_of(made).lag_events is None
    assert why_unknown(made) == (
        "the lag of 4 of 4 partitions is not known; Ready says SecretMissing: "
        "What, to whom. Do this."
    )


def test_figures_that_stand_because_the_operator_fails_are_not_told() -> None:
    made = document(Looks(reading()).fail("OperatorFailed"))
    assert outside_of(made).lag_events is None
    assert "OperatorFailed" in why_unknown(made)


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({}, "no operator has looked at it yet"),
        (
            {"conditions": [{"type": "Ready", "status": "False", "reason": "SecretMissing",
                             "message": "There is no Secret home."}]},
            "its partitions are not known; Ready says SecretMissing: There is no Secret home.",
        ),
    ],
)  # fmt: skip
def test_a_group_of_which_nothing_is_known_says_why(status: dict[str, Any], says: str) -> None:
    made = {"metadata": {}, "spec": {}, "status": status}
    assert outside_of(made).document() == {"lagKind": "unknown"}
    assert why_unknown(made) == says


def test_a_group_that_is_being_deleted_is_no_longer_told_of() -> None:
    made = document(Looks(reading()))
    made["metadata"]["deletionTimestamp"] = "2026-11-18T12:22:13Z"
    assert why_unknown(made) == "it is being deleted"
    assert outside_of(made).lag_events is None


def test_partitions_that_nobody_reads_are_counted_but_not_those_that_are_paused() -> None:
    seen = reading()
    for partition in ("0", "2"):
        seen.owners[partition] = ""
    assert outside_of(document(Looks(seen))).unread == 2
    seen.wish = replace(seen.wish, paused_partitions=frozenset({"2"}))
    assert outside_of(document(Looks(seen))).unread == 1
    seen.wish = replace(seen.wish, is_paused=True)
    assert outside_of(document(Looks(seen))).unread == 0


def test_partitions_whose_owner_cannot_read_them_are_counted_too() -> None:
    seen = reading()
    seen.members["m0"] = replace(seen.members["m0"], unread=frozenset({"0", "2"}))
    assert outside_of(document(Looks(seen))).unread == 2


def test_the_wait_of_a_group_with_many_partitions_is_its_age_in_the_status() -> None:
    made = document(Looks(reading()))
    del made["status"]["partitionStates"]
    made["status"]["behind"] = "5m"
    assert outside_of(made).lag_s == 300.0


@pytest.mark.parametrize("age", ["9" * 5000 + "s", "s", "5w", "-5s", "", None])
def test_an_age_that_nobody_writes_is_not_known(age: str | None) -> None:
    """A status may be written by anybody who may."""
    assert behind_s({"behind": age}) is None
    assert behind_s({"behind": "5m"}) == 300.0
