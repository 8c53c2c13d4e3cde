"""NetworkPolicies on nodes of our own: there where they were asked for, and gone where not."""

from __future__ import annotations

from pathlib import Path

import yaml

import manage
from images import POLICIES, SPARK
from kind_cluster import POLICIES_FILE, Cluster, Tools
from store import HERE, Store
from support.quiet_engine import QuietEngine
from support.tree import ROOT


def told(tmp_path: Path, *, wanted: bool) -> list[str]:
    """What kubectl is asked for."""
    kubectl, asked = tmp_path / "kubectl", tmp_path / "asked"
    kubectl.write_text(f'#!/bin/sh\nshift 2; echo "$*" >> {asked}\n')
    kubectl.chmod(0o755)
    store = Store(tmp_path)
    store.logs.mkdir(exist_ok=True)
    Cluster("mine", QuietEngine({}, True, tmp_path), store).enforce_policies(
        Tools(tmp_path / "kind", kubectl, "node"), wanted
    )
    return asked.read_text().splitlines()


def test_they_are_enforced_once_the_engine_runs_on_every_node(tmp_path: Path) -> None:
    applied, restarted, waited = told(tmp_path, wanted=True)
    assert applied == f"apply --filename {POLICIES_FILE}"
    assert restarted.startswith("rollout restart daemonset/network-policies")
    assert waited.startswith("rollout status daemonset/network-policies")


def test_a_cluster_that_does_not_ask_for_them_has_them_no_more(tmp_path: Path) -> None:
    (said,) = told(tmp_path, wanted=False)
    assert said == f"delete --ignore-not-found --filename {POLICIES_FILE}"


def test_their_image_is_on_the_nodes_only_where_they_are_asked_for() -> None:
    assert POLICIES not in manage.Wanted(spark=True).images()
    assert manage.Wanted(spark=True, policies=True).images()[-2:] == (SPARK, POLICIES)


def test_what_runs_them_may_look_and_change_nothing() -> None:
    documents = list(yaml.safe_load_all(POLICIES_FILE.read_text(encoding="utf-8")))
    (role,) = (each for each in documents if each["kind"] == "ClusterRole")
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    (daemon,) = (each for each in documents if each["kind"] == "DaemonSet")
    (container,) = daemon["spec"]["template"]["spec"]["containers"]
    assert container["image"] == POLICIES
    assert container["securityContext"] == {"capabilities": {"add": ["NET_ADMIN"]}}


def test_the_queue_that_is_watched_is_the_one_that_packets_go_to() -> None:
    script = (HERE / "policies" / "enforce").read_text(encoding="utf-8")
    assert "QUEUE=100\n" in script
    assert '"^ *100 "' in POLICIES_FILE.read_text(encoding="utf-8")


def test_the_example_for_groups_lets_them_do_what_they_have_to() -> None:
    policy = yaml.safe_load((ROOT / "examples" / "networkpolicy.yaml").read_text(encoding="utf-8"))
    ports = {
        (port["protocol"], port["port"])
        for rule in policy["spec"]["egress"]
        for port in rule.get("ports", ())
    }
    assert ports >= {("UDP", 53), ("TCP", 53), ("TCP", 443), ("TCP", 5671), ("TCP", 6443)}
