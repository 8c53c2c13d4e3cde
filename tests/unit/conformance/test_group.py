"""What a run makes, what it may do, and when a group is settled: the pure parts of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.settings import SettingsError
from tidegate_operator.conformance import group_manifest, manifests
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.options import (
    LABEL,
    Engine,
    Operator,
    Options,
    Source,
    given_in,
)
from tidegate_operator.conformance.record import Record
from tidegate_operator.conformance.report import again
from tidegate_operator.conformance.running import Run, RunError, setting_of
from tidegate_operator.conformance.states import (
    facts_of,
    is_settled,
    is_whole,
    told_of,
    waiting,
)
from tidegate_operator.engines.inputs import ROLE_LABEL
from tidegate_operator.local.admission import admit
from tidegate_operator.spec import read_spec

OPTIONS = Options("here", 7, 180.0)
GIVEN = {
    "kind": "ConsumerGroup",
    "spec": {
        "source": {"eventHubs": {"hub": "h", "connectionString": {"secret": "s", "key": "events"}}},
        "ledger": {"container": "c", "connectionString": {"secret": "s", "key": "storage"}},
        "image": "registry.example/mine:1",
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        OPTIONS, replace(OPTIONS, engine=Engine.SPARK), replace(OPTIONS, engine=Engine.MIXED),
        replace(OPTIONS, source=Source.COSMOS), replace(OPTIONS, given=given_in(GIVEN)),
    ],
)  # fmt: skip
def test_the_group_can_be_used_and_every_object_is_named_and_labelled_after_the_run(
    options: Options,
) -> None:
    group = group_manifest.group(options)
    assert read_spec(group).handler.config_map == "conformance-handler"
    admit(group, None)
    made = [group, manifests.handler(options), manifests.agent(options)]
    made += manifests.embedded(options) if options.is_embedded else []
    made += [group_manifest.joiner(options)] if options.engine is Engine.MIXED else []
    for document in made:
        assert document["metadata"]["namespace"] == "here"
        assert document["metadata"]["name"].startswith("conformance")
        assert document["metadata"]["labels"][LABEL] == "conformance"


def test_pods_keep_to_the_profile_restricted() -> None:
    pods = [each for each in manifests.embedded(OPTIONS) if each["kind"] == "Pod"]
    for pod in [*pods, manifests.agent(OPTIONS)]:
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] and not spec["automountServiceAccountToken"]
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_the_group_goes_through_the_proxy_and_the_agent_and_its_recorder_do_not() -> None:
    (secret,) = (each for each in manifests.embedded(OPTIONS) if each["kind"] == "Secret")
    said = secret["stringData"]
    assert "conformance-proxy.here.svc" in said["events"] and "-proxy." in said["storage"]
    assert "-proxy." not in said["direct-events"] + said["direct-storage"]
    keys = {key for _, key in manifests.secret_keys(OPTIONS).values()}
    assert keys == {"direct-events", "direct-storage"}


def test_with_a_hub_of_ones_own_nothing_is_embedded_and_no_network_is_broken() -> None:
    own = replace(OPTIONS, given=given_in(GIVEN), operator=Operator("ops", "tidegate-operator"))
    assert not own.abilities() & {"proxy", "ranges"} and "operator" in own.abilities()
    spec = group_manifest.group(own)["spec"]
    assert spec["image"] == "registry.example/mine:1"
    assert spec["source"]["eventHubs"]["start"] == "latest"
    assert spec["ledger"]["onDelete"] == "Delete"


def test_the_policy_of_a_run_keeps_the_agent_out_of_the_group_and_nobody_else() -> None:
    policy = manifests.policy(OPTIONS)
    spec, agent = policy["spec"], manifests.agent(OPTIONS)["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"] == {"tidegate.dev/group": "conformance"}
    assert spec["policyTypes"] == ["Ingress"]
    ((rule,),) = (each["from"] for each in spec["ingress"])
    (let_in,) = rule["podSelector"]["matchExpressions"]
    assert let_in["operator"] == "NotIn" and agent[let_in["key"]] in let_in["values"]
    assert rule["namespaceSelector"] == {}


def test_an_operator_that_was_not_named_is_not_touched() -> None:
    assert "operator" not in OPTIONS.abilities()
    with pytest.raises(SettingsError, match="NAMESPACE/DEPLOYMENT"):
        Operator.parse("tidegate-operator")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": {}}, "write eventHubs or cosmos"),
        ({"source": {"eventHubs": {"hub": "h", "namespace": "n"}}}, "secret: NAME"),
        ({"source": {"eventHubs": {}}}, "hub is missing"),
        ({"ledger": {"cosmos": {}}}, "spec.ledger.container"),
    ],
)
def test_a_group_that_conformance_cannot_watch_is_refused_with_what_to_write(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        given_in({**GIVEN, "spec": {**GIVEN["spec"], **change}})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "options",
    [replace(OPTIONS, engine=Engine.SPARK, source=Source.COSMOS), replace(OPTIONS, replicas=1),
     replace(OPTIONS, partitions=2), replace(OPTIONS, only=("earthquake",)),
     replace(OPTIONS, only=("operators",))],
)  # fmt: skip
def test_a_run_that_could_prove_nothing_is_refused(options: Options) -> None:
    with pytest.raises(SettingsError):
        options.checked()


def group_of(**status: Any) -> dict[str, Any]:
    settled: dict[str, Any] = {
        "observedGeneration": 3,
        "ready": "2/2",
        "state": "Balanced",
        "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Scaling", "status": "False"},
        ],
        "members": [{"name": "a"}, {"name": "b"}],
        "partitionStates": [
            {"partition": "0", "owner": "a", "lagKind": "exact"},
            {"partition": "1", "owner": "b", "lagKind": "exact"},
        ],
    }  # fmt: skip
    return {
        "metadata": {"generation": 3},
        "spec": {"replicas": 2, "scaling": {"min": 1, "max": 3}},
        "status": settled | status,
    }


PODS: list[dict[str, Any]] = [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]


def test_a_group_is_settled_when_all_is_owned_by_who_is_there_to_stay() -> None:
    assert is_settled(group_of(), PODS, 2, Engine.PYTHON)


@pytest.mark.parametrize(
    "status",
    [
        {"ready": "1/2"}, {"state": "Moving"}, {"observedGeneration": 2}, {"partitionStates": []},
        {"partitionStates": [{"partition": "0", "owner": "gone"}]},
        {"partitionStates": [{"partition": "0"}]}, {"conditions": []},
    ],
)  # fmt: skip
def test_a_group_of_which_anything_is_open_is_not_settled(status: dict[str, Any]) -> None:
    assert not is_settled(group_of(**status), PODS, 2, Engine.PYTHON)


def test_a_group_that_nobody_has_looked_at_is_not_settled() -> None:
    assert not is_settled({}, [], 2, Engine.PYTHON)


def test_a_group_with_a_pod_that_leaves_is_not_settled() -> None:
    leaving = [*PODS[:1], {"metadata": {"name": "b", "deletionTimestamp": "now"}}]
    assert not is_settled(group_of(), leaving, 2, Engine.PYTHON)
    assert facts_of(leaving[1]) == (0, False, True)


def test_what_a_status_tells_is_told_with_an_unknown_lag_as_unknown() -> None:
    told = told_of(group_of(lag=5), 2, 9.0)
    assert (told.ready, told.least, told.most, told.lag) == (2, 1, 3, 5)
    assert told.is_lag_known and not told.is_auto and told.owners == {"0": "a", "1": "b"}
    unknown = [{"partition": "0", "owner": "a", "lagKind": "unknown"}]
    assert not told_of(group_of(partitionStates=unknown), 2, 9.0).is_lag_known


def test_what_a_pod_waits_for_is_said_in_the_words_of_kubernetes() -> None:
    waits = {"reason": "CreateContainerConfigError", "message": 'secret "mine" not found'}
    pod = {"status": {"containerStatuses": [{"state": {"waiting": waits}}]}}
    assert waiting(pod) == 'CreateContainerConfigError: secret "mine" not found'
    assert waiting({"status": {"containerStatuses": [{"state": {"running": {}}}]}}) == ""
    assert waiting({}) == ""


def test_a_hub_of_ones_own_has_as_many_partitions_as_it_has_and_enough_for_the_consumers() -> None:
    hands: Any = SimpleNamespace(kube=None)
    run = Run(hands, replace(OPTIONS, given=given_in(GIVEN), group_file="mine.yaml"), print)
    run.take_partitions(5)
    assert run.record.setting.partitions == 5
    assert again(run.record).count("--group-file mine.yaml") == 1
    assert "--partitions" not in again(run.record)
    with pytest.raises(RunError, match="there are 2 partitions for 3 consumers"):
        run.take_partitions(2)


def test_ranges_are_whole_where_they_leave_nothing_out() -> None:
    assert is_whole({"-10", "10-20", "20-FF"}) and is_whole({"-ff"})
    assert not is_whole({"-10", "20-FF"}), "what is to come of a merge is not there yet"
    assert not is_whole({"-10", "10-20"}) and not is_whole({"10-FF"}) and not is_whole(set())


def test_a_range_that_has_ended_is_nobodys_although_it_keeps_its_last_owner() -> None:
    hands: Any = None
    looking = Looking(hands, OPTIONS, Record(setting_of(OPTIONS)))
    looking.owners = {"0": "a", "1": "b", "ended": "a", "free": ""}
    assert looking.members() == {"a": ["0", "ended"], "b": ["1"]}, "no status says what there is"
    looking.group = group_of()
    assert looking.members() == {"a": ["0"], "b": ["1"]}


RUNS = {"conditions": [{"type": "Ready", "status": "True"}]}
JOINER: dict[str, Any] = {"metadata": {"name": "by-hand"}, "status": RUNS}
OF_THREE = [{"name": "a", "ready": True}, {"name": "b", "ready": True}]


def mixed_look(joiner: dict[str, Any] | None, *said: dict[str, Any]) -> Looking:
    """A group of two executors in good order, as far as its status goes."""
    hands: Any = None
    options = replace(OPTIONS, engine=Engine.MIXED)
    looking = Looking(hands, options, Record(setting_of(options)))
    looking.group = group_of(members=[*OF_THREE, *said])
    looking.pods = [
        {"metadata": {"name": name, "labels": {ROLE_LABEL: "executor"}}} for name in "ab"
    ]
    looking.joiner = joiner
    return looking


def test_a_mixed_group_is_settled_once_the_pod_made_by_hand_has_joined() -> None:
    assert mixed_look(JOINER, {"name": "by-hand", "ready": True}).is_settled(2)


@pytest.mark.parametrize(
    ("joiner", "said"),
    [
        (None, []),
        ({**JOINER, "status": {}}, [{"name": "by-hand", "ready": True}]),
        (JOINER, []),
        (JOINER, [{"name": "by-hand", "ready": False}]),
        (JOINER, [{"name": "by-hand", "ready": True, "leaving": True}]),
        (
            {**JOINER, "metadata": {"name": "by-hand", "deletionTimestamp": "now"}},
            [{"name": "by-hand", "ready": True}],
        ),
    ],
    ids=["no-pod", "not-ready", "no-member", "dead", "leaving", "deleted"],
)
def test_a_mixed_group_that_shares_all_without_the_pod_made_by_hand_is_not_settled(
    joiner: dict[str, Any] | None, said: list[dict[str, Any]]
) -> None:
    looking = mixed_look(joiner, *said)
    assert is_settled(looking.group, looking.pods, 2, Engine.MIXED), "it looks well by itself"
    assert not looking.is_settled(2)
