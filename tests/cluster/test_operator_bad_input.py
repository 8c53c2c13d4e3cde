"""What a person gets wrong is said within seconds, in a condition that says what to do.

A group that is well stands beside all of them and is not touched; and nobody runs in a circle.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from support.cluster_api import until
from support.cluster_group import Group, a_group, document_of, groups
from support.cluster_manifests import HUB, config_map, container, deployment, service
from support.cluster_release import PLURAL, SECRET, Release, event_hubs, ledger

pytestmark = pytest.mark.timeout(240)

TOLD_WITHIN_S = 15.0
WATCHED_S = 20.0
WRONG, STRICT = "wrong", "strict-hub"


@pytest.fixture(scope="module")
def well(release: Release) -> Iterator[Group]:
    """A group that is well, and what the others get wrong."""
    kubectl = release.inside
    storage = release.secret("storage").replace("AccountKey=", "AccountKey=AAAA")
    events = release.secret("events").replace("tidegate-hub.", f"{STRICT}.")
    events = events.replace("SAS_KEY", "SAS_NO")
    kubectl.said(
        "create", "secret", "generic", WRONG, f"--from-literal=storage={storage}",
        f"--from-literal=events={events}",
    )  # fmt: skip
    arguments = ["hub", "--host", "0.0.0.0", "--hub", "well:4", "--check-sas"]
    kubectl.apply(
        config_map("broken", {"broken.py": "import nothing_of_this_name\n"}),
        deployment(STRICT, container(HUB, args=arguments)),
        service(STRICT, 5672),
    )
    kubectl.wait_until_ready(STRICT)
    with a_group(release, "well", hub="well", replicas=2) as group:
        group.until_settled(2, 60)
        yield group


def of_wrong(key: str) -> dict[str, str]:
    return {"secret": WRONG, "key": key}


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "no-secret": (
        "SecretMissing",
        {"source": event_hubs("well", connectionString={"secret": "nowhere", "key": "events"})},
        "nowhere",
    ),
    "no-key": (
        "SecretKeyMissing",
        {"source": event_hubs("well", connectionString={"secret": SECRET, "key": "nothing"})},
        "nothing",
    ),
    "no-map": (
        "ConfigMapMissing",
        {
            "handler": {"configMap": "nowhere", "code": "handler.py:handle"},
            "source": event_hubs("found"),
        },
        "nowhere",
    ),
    "wrong-storage": (
        "LedgerDenied",
        {"ledger": ledger("wrong", connectionString=of_wrong("storage"))},
        "",
    ),
    "no-container": (
        "LedgerMissing",
        {"ledger": ledger("not-there", create=False)},
        "not-there",
    ),
    "wrong-hub-key": (
        "HubDenied",
        {"source": event_hubs("well", connectionString=of_wrong("events"))},
        "",
    ),
    "no-hub": ("HubUnknown", {"source": event_hubs("not-there")}, "not-there"),
    "no-import": (
        "HandlerNotImported",
        {"handler": {"configMap": "broken", "code": "broken.py:handle"}},
        "nothing_of_this_name",
    ),
    "no-image": (
        "ImageCannotBePulled",
        {"image": "127.0.0.1:1/none:1", "source": event_hubs("image")},
        "spec.image",
    ),
    "no-template": (
        "TemplateImpossible",
        {"template": {"spec": {"containers": [{"name": "consumer", "command": ["sh"]}]}}},
        "spec.template",
    ),
    "refused": (
        "Refused",
        {"template": {"spec": {"containers": [{"name": "consumer", "ports": [
            {"name": "Not A Name", "containerPort": 1}]}]}}},
        "Not A Name",
    ),
    "no-node": (
        "Unschedulable",
        {"template": {"spec": {"nodeSelector": {"disk": "of-gold"}}}},
        "spec.template",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def bad(release: Release, well: Group) -> Iterator[dict[str, Group]]:
    """All bad groups at once."""
    documents = [document_of(name, "well", spec) for name, (_, spec, _) in BAD.items()]
    with groups(release, *documents) as found:
        yield {group.name: group for group in found}


def test_each_mistake_is_told_in_time_and_says_what_to_do(
    bad: dict[str, Group], capsys: pytest.CaptureFixture[str]
) -> None:
    took: dict[str, float] = {}

    def all_told() -> bool:
        for name, group in bad.items():
            if name not in took and group.reason() == BAD[name][0]:
                took[name] = group.age_s
        return len(took) == len(bad)

    def told() -> object:
        left = bad.keys() - took.keys()
        return took, {name: bad[name].condition("Ready") for name in left}

    until(all_told, 3 * TOLD_WITHIN_S, "every reason", told)
    with capsys.disabled():
        print(
            "\ntold after", ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items())
        )
    for name, group in bad.items():
        ready = group.condition("Ready")
        assert BAD[name][2] in ready["message"], ready
        assert len(ready["message"].split()) > 8, ready
    assert max(took.values()) < TOLD_WITHIN_S, took


def test_nobody_runs_in_a_circle_and_the_group_beside_them_is_not_touched(
    release: Release,
    well: Group,
    bad: dict[str, Group],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pods = {pod["metadata"]["name"]: restarts_of(pod) for pod in well.pods()}
    owners, generation = well.owners(), well.written()
    written, said = versions(release), len(release.log())
    end = time.monotonic() + WATCHED_S
    changes = 0
    while time.monotonic() < end:
        until(lambda: well.is_so("Ready"), 5, "the good group to be well", well.told)
        now = versions(release)
        changes += sum(now[each] != written.get(each) for each in now)
        written = now
    lines = len(release.log()) - said
    with capsys.disabled():
        print(f"\nin {WATCHED_S:.0f} s: {changes} writes, {lines} lines of log")
    # Those of containers that fail and are started again, and of nothing else.
    assert changes <= 2 * len(bad) and lines <= 3 * len(bad)
    assert {pod["metadata"]["name"]: restarts_of(pod) for pod in well.pods()} == pods
    assert well.owners() == owners
    assert well.written() == generation


def test_a_consumer_group_that_is_not_there_is_told_15_s_after_its_pods_have_joined(
    release: Release, well: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    """The operator is not who reads: the pods run, own everything, and say so."""
    source = event_hubs("well", consumerGroup="nowhere")
    with a_group(release, "no-group", hub="well", replicas=1, source=source) as group:
        group.until("its pod to join", lambda: group.status().get("ready") == "1/1", 60)
        joined_s = group.age_s
        group.until("the reason", lambda: group.reason() == "PartitionsNotRead", 3 * TOLD_WITHIN_S)
        took_s = group.age_s - joined_s
        with capsys.disabled():
            print(f"\ntold {took_s:.0f} s after its pod has joined")
        message = group.condition("Ready")["message"]
        assert message.startswith("4 partitions have owners that cannot read them:"), message
        for word in ("'nowhere'", "amqp:not-found", "kubectl logs", *group.pod_names()):
            assert word in message, message
        assert group.status()["state"] == "PartitionsNotRead"
        assert took_s < TOLD_WITHIN_S
        assert well.is_so("Ready"), well.told()


def restarts_of(pod: dict[str, Any]) -> int:
    return sum(each["restartCount"] for each in pod["status"]["containerStatuses"])


def versions(release: Release) -> dict[tuple[str, str], str]:
    """What the operator writes, and which version of it stands."""
    return {
        (kind, each["metadata"]["name"]): each["metadata"]["resourceVersion"]
        for kind in (PLURAL, "deployments")
        for each in release.api.list(kind)
    }


def test_a_mistake_that_is_mended_is_forgotten(release: Release, bad: dict[str, Group]) -> None:
    release.inside.apply(config_map("nowhere", {"handler.py": "def handle(events, context): ..."}))
    bad["no-image"].patch(image=None)
    for name in ("no-map", "no-image"):
        bad[name].until_settled(1, 60)
