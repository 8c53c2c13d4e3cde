"""The chart, rendered by helm: every combination of what can be switched, and what is refused.

No cluster is asked: test_chart_rights.py hands what was rendered to a real API server.
"""

from __future__ import annotations

import itertools
import json

import pytest
import yaml

from support.helm_chart import (
    CHART,
    NAMESPACE,
    Document,
    Helm,
    everything_wrong,
    of_kind,
    only,
    operator_of,
)
from tidegate_hub.cli import options_of as hub_options_of
from tidegate_hub.cli import parser as hub_parser
from tidegate_operator.cli import parser

SCOPES: dict[str, list[str]] = {"cluster": [], "one": [NAMESPACE], "two": ["alpha", "beta"]}
SWITCHES: dict[str, tuple[Document, Document]] = {
    "replicas": ({"replicas": 1}, {"replicas": 2}),
    "embedded": ({"embedded": False}, {"embedded": True}),
    "monitoring": (
        {},
        {
            "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
            "console": {"enabled": True},
            "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
            "dashboard": {"enabled": True, "annotations": {"folder": "Tidegate"}},
        },
    ),
    "network": (
        {"networkPolicy": {"enabled": False}},
        {"networkPolicy": {"metricsFrom": [{"namespaceSelector": {}}]}},
    ),
    "account": (
        {},
        {
            "serviceAccount": {"create": False, "name": "somebody"},
            "rbac": {"aggregate": False},
            "podDisruptionBudget": {"enabled": False},
        },
    ),
    "pod": (
        {},
        {
            "image": {"digest": f"sha256:{'a' * 64}"},
            "consumer": {"image": "registry.example/consumer:1"},
            "imagePullSecrets": [{"name": "registry"}],
            "podLabels": {"team": "water"},
            "podAnnotations": {"team": "water"},
            "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
            "volumes": [{"name": "authority", "configMap": {"name": "authority"}}],
            "volumeMounts": [{"name": "authority", "mountPath": "/etc/authority"}],
            "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}},
            "topologySpreadConstraints": [],
            "priorityClassName": "high",
            "test": {"enabled": False},
        },
    ),
}


@pytest.mark.parametrize("scope", SCOPES)
def test_every_combination_of_switches_renders_objects_that_keep_all_rules(
    helm: Helm, scope: str
) -> None:
    for choice in itertools.product((0, 1), repeat=len(SWITCHES)):
        values: Document = {"watch": {"namespaces": SCOPES[scope]}}
        for pair, which in zip(SWITCHES.values(), choice, strict=True):
            values |= pair[which]
        documents = helm.rendered(**values)
        assert not everything_wrong(documents), values
        what, *words = operator_of(documents)["args"]
        told = parser().parse_args(words)
        assert (what, told.namespace) == ("operator", SCOPES[scope])
        assert told.all_namespaces == (scope == "cluster")


def test_it_passes_the_strict_linter(helm: Helm) -> None:
    for values in ([], ["--set", "embedded=true"]):
        ran = helm.tried("lint", "--strict", str(CHART), *values)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_by_default_one_operator_watches_the_whole_cluster_and_nothing_else_comes(
    helm: Helm,
) -> None:
    documents = helm.rendered()
    kinds = sorted(each["kind"] for each in documents)
    assert kinds == [
        "ClusterRole", "ClusterRole", "ClusterRole", "ClusterRoleBinding", "Deployment", "Lease",
        "NetworkPolicy", "Pod", "Role", "RoleBinding", "Service", "ServiceAccount",
    ]  # fmt: skip
    args = operator_of(documents)["args"]
    assert args[:2] == ["operator", "run"]
    assert args[args.index("--image") + 1] == operator_of(documents)["image"]


def test_an_operator_of_some_namespaces_has_no_rights_beyond_them(helm: Helm) -> None:
    documents = helm.rendered(watch={"namespaces": ["alpha", "beta"]}, rbac={"aggregate": False})
    assert not of_kind(documents, "ClusterRole", "ClusterRoleBinding")
    where = {each["metadata"]["namespace"] for each in of_kind(documents, "Role")}
    assert where == {"alpha", "beta", NAMESPACE}
    leader = only(documents, "Role", "tidegate-operator-leader")
    assert {word for rule in leader["rules"] for word in rule["resources"]} == {"leases"}
    args = operator_of(documents)["args"]
    (named,) = leader["rules"][1]["resourceNames"]
    assert args[args.index("--leader-name") + 1] == named


def test_the_console_is_where_it_is_asked_for_with_the_rights_that_it_needs(helm: Helm) -> None:
    assert "--console" not in operator_of(helm.rendered())["args"]
    documents = helm.rendered(console={"enabled": True}, watch={"namespaces": ["alpha"]})
    container = operator_of(documents)
    served_at = container["args"][container["args"].index("--console") + 1]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    assert served_at == f"0.0.0.0:{ports['console']}"
    there = only(documents, "Service", "tidegate-operator")["spec"]["ports"]
    assert {each["targetPort"] for each in there} == {"http", "console"}
    let_in = only(documents, "NetworkPolicy", "tidegate-operator")["spec"]["ingress"]
    assert {"protocol": "TCP", "port": "console"} in [
        port for each in let_in for port in each["ports"]
    ]
    rules = only(documents, "ClusterRole", f"{NAMESPACE}:tidegate-operator:console")["rules"]
    assert [(each["resources"], each["verbs"]) for each in rules] == [
        (["tokenreviews"], ["create"]),
        (["subjectaccessreviews"], ["create"]),
    ]


def test_a_budget_is_there_only_where_an_operator_is_left_to_act(helm: Helm) -> None:
    assert not of_kind(helm.rendered(replicas=1), "PodDisruptionBudget")
    (budget,) = of_kind(helm.rendered(replicas=2), "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1


def test_the_embedded_servers_are_where_their_secret_says(helm: Helm) -> None:
    documents = helm.rendered(embedded=True)
    secret = only(documents, "Secret", "tidegate-embedded")["stringData"]
    assert f"sb://tidegate-hub.{NAMESPACE}.svc:5672;" in secret["events"]
    assert f"http://tidegate-azurite.{NAMESPACE}.svc:10000/" in secret["storage"]
    for name, port in (("tidegate-hub", 5672), ("tidegate-azurite", 10000)):
        (there,) = only(documents, "Service", name)["spec"]["ports"]
        assert there["port"] == port
        pod = only(documents, "Deployment", name)["spec"]["template"]["spec"]
        (inside,) = pod["containers"][0]["ports"]
        assert (inside["name"], inside["containerPort"]) == (there["targetPort"], port)


def test_the_hub_keeps_less_on_its_disk_than_the_disk_it_is_given(helm: Helm) -> None:
    """Kubernetes evicts a pod that takes more, and all events are gone then."""
    hubs = ["telemetry:16", "more:4:mine,yours"]
    documents = helm.rendered(embedded=True, embeddedHub={"keepMb": 512, "hubs": hubs})
    pod = only(documents, "Deployment", "tidegate-hub")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    what, *words = container["args"]
    options = hub_options_of(hub_parser().parse_args(["serve", *words]))
    assert (what, [hub.name for hub in options.hubs]) == ("hub", ["telemetry", "more"])
    assert options.total_bytes == 512 << 20
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each["emptyDir"] for each in pod["volumes"]}
    assert volumes[mounts["/var/tmp"]] == {"sizeLimit": "768Mi"}


def test_the_storage_may_take_as_much_memory_as_its_value_says(helm: Helm) -> None:
    documents = helm.rendered(embedded=True, embeddedStorage={"memoryMb": 900})
    pod = only(documents, "Deployment", "tidegate-azurite")["spec"]["template"]["spec"]
    args = pod["containers"][0]["args"]
    assert args[args.index("--extentMemoryLimit") + 1] == "900"


def test_what_the_autoscaler_of_nodes_is_told_can_be_said_otherwise(helm: Helm) -> None:
    key = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

    def annotations(**values: object) -> Document:
        deployment = only(helm.rendered(**values), "Deployment", "tidegate-operator")
        template = deployment["spec"]["template"]
        volumes = [each["name"] for each in template["spec"]["volumes"] if "emptyDir" in each]
        assert volumes == ["scratch"]
        found: Document = template["metadata"]["annotations"]
        return found

    assert annotations() == {key: "scratch"}
    assert annotations(podAnnotations={key: "", "a": "b"}) == {key: "", "a": "b"}


@pytest.mark.parametrize("profile", ["privileged", "baseline", "restricted"])
def test_the_profile_of_templates_reaches_the_operator(helm: Helm, profile: str) -> None:
    what, *words = operator_of(helm.rendered(podSecurity=profile))["args"]
    assert (what, parser().parse_args(words).pod_security) == ("operator", profile)


def test_prometheus_is_pointed_at_ports_that_are_there(helm: Helm) -> None:
    documents = helm.rendered(serviceMonitor={"enabled": True}, watch={"namespaces": ["alpha"]})
    ports = {
        port["name"] for port in only(documents, "Service", "tidegate-operator")["spec"]["ports"]
    }
    own = only(documents, "ServiceMonitor", "tidegate-operator")["spec"]
    assert {each["port"] for each in own["endpoints"]} <= ports
    groups = only(documents, "ServiceMonitor", "tidegate-groups")["spec"]
    assert groups["namespaceSelector"] == {"matchNames": ["alpha"]}


def test_rules_and_dashboard_come_as_they_are_in_their_files(helm: Helm) -> None:
    documents = helm.rendered(prometheusRule={"enabled": True}, dashboard={"enabled": True})
    (rule,) = of_kind(documents, "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "rules" / "alerts.yaml").read_text("utf-8"))
    board = only(documents, "ConfigMap", "tidegate-dashboard")["data"]["tidegate.json"]
    assert json.loads(board) == json.loads(
        (CHART / "dashboards" / "tidegate.json").read_text("utf-8")
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"replica": 2}, "replica"),
        ({"replicas": "two"}, "/replicas"),
        ({"image": {"digest": "abc"}}, "/image/digest"),
        ({"watch": {"namespaces": ["Not A Name"]}}, "/watch/namespaces/0"),
        ({"watch": {"namespaces": "alpha"}}, "/watch/namespaces"),
        ({"log": {"level": "LOUD"}}, "/log/level"),
        ({"networkPolicy": {"egressPorts": [70000]}}, "/networkPolicy/egressPorts/0"),
        ({"embedded": "yes"}, "/embedded"),
        ({"embeddedHub": {"hubs": ["no spaces"]}}, "/embeddedHub/hubs/0"),
        ({"embeddedHub": {"keepMb": 1}}, "/embeddedHub/keepMb"),
        ({"podSecurity": "strict"}, "/podSecurity"),
        ({"embeddedStorage": {"memoryMb": "1Gi"}}, "/embeddedStorage/memoryMb"),
        ({"serviceAccount": {"create": False}}, "serviceAccount.name is needed"),
    ],
)
def test_values_that_cannot_be_meant_are_refused_by_name(
    helm: Helm, values: Document, words: str
) -> None:
    assert words in helm.refusal(**values).replace("'", "")


def test_two_releases_of_one_name_in_two_namespaces_share_no_object(helm: Helm) -> None:
    first = helm.rendered()
    second = helm.rendered("--namespace", "elsewhere")

    def names(documents: list[Document]) -> set[tuple[str, str, str]]:
        return {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"])
            for each in documents
        }

    assert not names(first) & names(second)
