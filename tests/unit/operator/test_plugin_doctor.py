"""`kubectl consumergroup doctor`: what is wrong with groups, first that no operator serves them.

The Leases are those that an operator writes; see leader.py.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from support.plugin_api import PluginApi
from tidegate_operator.freshness import FINALIZER
from tidegate_operator.leader import Turn, written
from tidegate_operator.plugin.doctor import findings_of
from tidegate_operator.plugin.operators import seen_operator
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.wording import time_text
from unit.operator.plugin_groups import NAME, NAMESPACE, Run, condition, group

SETTINGS = OperatorSettings("op-1", "tidegate", image="x")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/tidegate/leases"


def lease(*namespaces: str, age_s: float = 3.0) -> dict[str, Any]:
    settings = replace(SETTINGS, namespaces=namespaces)
    return written(None, settings, Turn.TAKE, time.time() - age_s)


def unseen(**more: Any) -> dict[str, Any]:
    return group(status={}, **more)


def seen(age_s: float = 5.0) -> dict[str, Any]:
    document = group()
    document["status"]["observedTime"] = time_text(time.time() - age_s)
    return document


def found(document: dict[str, Any], *leases: dict[str, Any]) -> str:
    return " ".join(findings_of(document, tuple(map(seen_operator, leases)), time.time()).found)


def test_a_group_in_a_namespace_that_no_operator_watches_is_told_those_that_are_watched() -> None:
    said = found(unseen(), lease("alarms", "shops"))
    assert said.startswith("No operator has looked at it yet: none watches namespace 'homes'")
    assert "op-1 watches alarms, shops" in said and "watch.namespaces" in said


def test_an_operator_that_watches_the_namespace_or_all_of_them_is_named() -> None:
    for namespaces in ((), ("alarms", NAMESPACE)):
        said = found(unseen(), lease(*namespaces))
        assert "op-1 watches this namespace. See its log" in said
        assert found(seen(), lease(*namespaces)) == ""


def test_that_no_operator_runs_is_known_before_the_status_is_old() -> None:
    gone = lease(age_s=100.0)
    assert found(seen(), gone).startswith("No operator looks at it any more: none runs in this")
    assert "The last one was there 100s ago." in found(seen(), gone)
    assert "none runs in this cluster" in found(seen(600.0))
    given_back = lease()
    given_back["spec"]["holderIdentity"] = ""
    assert "none runs in this cluster" in found(seen(), given_back)


def test_who_may_not_list_leases_is_told_what_follows_from_the_group_alone() -> None:
    (said,) = findings_of(unseen(), None, time.time()).found
    assert "is one running, and does it watch this namespace?" in said
    assert "leases.coordination.k8s.io" in said
    assert findings_of(seen(), None, time.time()).found == ()


def test_a_group_that_is_deleted_says_what_it_waits_for() -> None:
    document = unseen()
    document["metadata"] |= {"deletionTimestamp": "2026-11-18T12:00:00Z", "finalizers": [FINALIZER]}
    said = found(document)
    assert f"its finalizer {FINALIZER} keeps it until an operator has removed its ledger" in said


def test_what_is_wrong_by_its_conditions_is_told_and_a_wish_is_not() -> None:
    document = seen()
    document["status"]["conditions"] = [
        condition("Ready", "False", "Paused", "The group is paused."),
        condition("Stuck", "True", "HandlerFails", "Mend the handler."),
    ]
    assert found(document, lease()) == "Stuck True, HandlerFails: Mend the handler."


# --- the command


def test_the_command_says_it_of_one_group_or_of_all(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    groups_api.put(f"{LEASES}/tidegate-operator", lease("alarms"))
    groups_api.put_group(unseen())
    for words in (("doctor", NAME), ("doctor",)):
        assert run(*words) == 1
        out = capsys.readouterr().out
        assert out.startswith(f"{NAMESPACE}/{NAME}:\n  No operator has looked at it yet")
        assert "op-1 watches alarms" in out
    assert run("doctor", "-o", "json") == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told["name"] == NAME and "op-1 watches alarms" in told["findings"][0]
    # The table says it as well.
    assert run("partitions", NAME) == 0
    assert "op-1 watches alarms" in capsys.readouterr().out


def test_all_is_well_where_an_operator_looks_at_the_groups(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    groups_api.put(f"{LEASES}/tidegate-operator", lease())
    groups_api.put_group(seen())
    assert run("doctor") == 0
    assert capsys.readouterr().out == f"{NAMESPACE}/{NAME}: nothing is wrong\n"
    assert run("doctor", "-n", "empty") == 0
    assert "there is no group in namespace 'empty'" in capsys.readouterr().out


def test_a_person_without_the_right_to_list_leases_is_answered_all_the_same(
    run: Run, groups_api: PluginApi, capsys: pytest.CaptureFixture[str]
) -> None:
    groups_api.forbidden["get /apis/coordination.k8s.io/v1/leases"] = (
        'leases.coordination.k8s.io is forbidden: User "somebody" cannot list resource "leases" '
        'in API group "coordination.k8s.io" at the cluster scope'
    )
    groups_api.put_group(unseen())
    assert run("doctor") == 1
    assert "have the right to list leases.coordination.k8s.io" in capsys.readouterr().out
