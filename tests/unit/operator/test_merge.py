"""One document merged over another: by name where things have names, whole where halves clash."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate_operator.merge import TemplateError, merged

AT = "spec.template"


def test_maps_are_merged_key_by_key_and_null_takes_away() -> None:
    ours = {"spec": {"a": 1, "b": {"c": 2, "d": 3}}}
    theirs = {"spec": {"b": {"c": None, "e": 4}, "f": {"g": None, "h": 5}}}
    assert merged(ours, theirs, AT) == {"spec": {"a": 1, "b": {"d": 3, "e": 4}, "f": {"h": 5}}}


def test_what_was_given_is_not_changed() -> None:
    ours: dict[str, Any] = {"containers": [{"name": "consumer", "env": [{"name": "A"}]}]}
    theirs: dict[str, Any] = {"containers": [{"name": "consumer", "env": [{"name": "B"}]}]}
    merged(ours, theirs, AT)
    assert ours == {"containers": [{"name": "consumer", "env": [{"name": "A"}]}]}
    assert theirs == {"containers": [{"name": "consumer", "env": [{"name": "B"}]}]}


def test_containers_are_merged_by_name_and_others_come_after_ours() -> None:
    ours = {"containers": [{"name": "consumer", "image": "ours", "args": ["x"]}]}
    theirs = {"containers": [{"name": "side", "image": "s"}, {"name": "consumer", "image": "i"}]}
    assert merged(ours, theirs, AT) == {
        "containers": [
            {"name": "consumer", "image": "i", "args": ["x"]},
            {"name": "side", "image": "s"},
        ]
    }


@pytest.mark.parametrize(
    ("name", "ours", "theirs"),
    [
        ("env", {"name": "A", "value": "1"}, {"name": "A", "valueFrom": {"fieldRef": {}}}),
        ("volumes", {"name": "tmp", "emptyDir": {}}, {"name": "tmp", "hostPath": {"path": "/x"}}),
        ("volumeMounts", {"mountPath": "/tmp", "name": "a"}, {"mountPath": "/tmp", "name": "b"}),
        (
            "topologySpreadConstraints",
            {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 2},
            {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 2},
        ),
    ],
)
def test_what_may_be_of_one_sort_only_is_replaced_as_a_whole(
    name: str, ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    assert merged({name: [ours]}, {name: [theirs]}, AT) == {name: [theirs]}


def test_ports_are_known_by_number_and_protocol() -> None:
    ours = {"ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}]}
    same = {"ports": [{"containerPort": 9090, "hostPort": 1}]}
    other = {"ports": [{"containerPort": 9090, "protocol": "UDP"}]}
    assert len(merged(ours, same, AT)["ports"]) == 1
    assert len(merged(ours, other, AT)["ports"]) == 2


def test_a_probe_that_asks_in_another_way_no_longer_asks_in_ours() -> None:
    ours = {"livenessProbe": {"httpGet": {"path": "/healthz"}, "periodSeconds": 10}}
    asked = {"livenessProbe": {"exec": {"command": ["true"]}}}
    slower = {"livenessProbe": {"periodSeconds": 30}}
    assert merged(ours, asked, AT) == {
        "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 10}
    }
    assert merged(ours, slower, AT)["livenessProbe"]["httpGet"] == {"path": "/healthz"}


def test_lists_without_names_are_replaced() -> None:
    ours = {"tolerations": [{"key": "a"}], "command": ["x"]}
    theirs = {"tolerations": [{"operator": "Exists", "value": None}], "command": ["y", "z"]}
    assert merged(ours, theirs, AT) == {
        "tolerations": [{"operator": "Exists"}],
        "command": ["y", "z"],
    }


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        ({"spec": "text"}, "spec.template.spec: write keys and values, not a text"),
        ({"spec": {"containers": {"name": "x"}}}, "containers: write a list, not keys and values"),
        ({"spec": {"containers": [{"image": "i"}]}}, "containers: each of them needs name"),
        ({"spec": {"containers": ["consumer"]}}, "containers: each of them needs name"),
        ({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}, "containers: a is there twice"),
        (
            {"spec": {"containers": [{"name": "a", "env": [{"value": "secret"}]}]}},
            r"containers\[a\]\.env: each of them needs name",
        ),
        ({"spec": {"containers": [{"name": "a", "ports": [{}]}]}}, "needs containerPort"),
    ],
)
def test_what_cannot_be_merged_is_refused_with_its_place_and_never_its_value(
    theirs: dict[str, Any], said: str
) -> None:
    ours = {"spec": {"containers": [{"name": "consumer"}]}}
    with pytest.raises(TemplateError, match=said) as caught:
        merged(ours, theirs, AT)
    assert "secret" not in str(caught.value)
