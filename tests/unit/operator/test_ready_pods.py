"""Ready where a pod cannot run: which pod, why, and what to do about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.model import ContainerFacts, PodFacts, Running
from unit.operator.looked_at import Looks, fails, waits, with_pod
from unit.operator.observed import NOW, Seen, group, pod, starting


def ready(seen: Seen) -> Looks:
    return Looks(seen).look()


NOT_THERE = "HandlerNotImported: handler file 'handler.py': h.py, line 1: ModuleNotFoundError: no x"

OF_PODS = [
    pytest.param(
        waits("m1", "ImagePullBackOff", 'Back-off pulling image "nowhere/x:1"'),
        "ImageCannotBePulled",
        ["m1", "nowhere/x:1", "spec.image", "imagePullSecrets"],
        id="an image that cannot be pulled",
    ),
    pytest.param(
        waits("m1", "InvalidImageName", "couldn't parse image name"),
        "ImageCannotBePulled",
        ["m1", "couldn't parse"],
        id="an image whose name is none",
    ),
    pytest.param(
        waits("m1", "CreateContainerConfigError", 'secret "mine" not found'),
        "ContainerCannotStart",
        ["m1", 'secret "mine" not found', "kubectl describe pod -n default m1"],
        id="a container that cannot be made",
    ),
    pytest.param(
        fails("m1", 128, 'exec: "nope": not found', reason="StartError"),
        "ContainerCannotStart",
        ["m1", "nope"],
        id="a command that is not there",
    ),
    pytest.param(
        fails("m1", 78, NOT_THERE),
        "HandlerNotImported",
        ["m1", "line 1: ModuleNotFoundError: no x", "ConfigMap of spec.handler"],
        id="a handler that does not import",
    ),
    pytest.param(
        fails("m1", 78, "ConfigurationRefused: spec.delivery: write 1 or more"),
        "ConfigurationRefused",
        ["m1", "write 1 or more", "Mend spec"],
        id="a group file that the consumer refuses",
    ),
    pytest.param(
        fails("m1", 78, "", restarts=0),
        "ConfigurationRefused",
        ["m1", "said nothing"],
        id="a refusal that says nothing",
    ),
    pytest.param(
        fails("m1", 137, "", reason="OOMKilled"),
        "OutOfMemory",
        ["m1", "memory", "bufferBytes"],
        id="a consumer without enough memory",
    ),
    pytest.param(
        fails("m1", 137, "", reason="Error"),
        "CrashLoop",
        ["m1", "code 137", "It was killed", "more memory than its limit", "--previous"],
        id="a consumer that was killed on a node too busy to see why",
    ),
    pytest.param(
        fails("m1", 1, "line one\nValueError: bad\n"),
        "CrashLoop",
        ["m1", "code 1, 3 times by now", "ValueError: bad", "--previous"],
        id="a consumer that ends again and again",
    ),
    pytest.param(
        pod(
            "m1",
            is_ready=False,
            is_scheduled=False,
            unscheduled_message="0/3 nodes are available: 3 Insufficient cpu.",
            container=ContainerFacts(),
        ),
        "Unschedulable",
        ["m1", "3 Insufficient cpu", "Add nodes"],
        id="a pod that no node takes",
    ),
    pytest.param(
        pod("m1", is_ready=False, container=ContainerFacts(running=Running(NOW - 61))),
        "PodsNotReady",
        ["m1", "has not joined", "kubectl logs -n default m1"],
        id="a pod that does not join",
    ),
    pytest.param(
        waits("m1", "ContainerCreating", age_s=61.0),
        "PodsNotReady",
        ["m1", "has not started", "kubectl describe pod -n default m1"],
        id="a pod that does not start",
    ),
]


@pytest.mark.parametrize(("bad", "reason", "words"), OF_PODS)
def test_a_pod_that_cannot_run_is_told_with_its_remedy(
    bad: PodFacts, reason: str, words: list[str]
) -> None:
    looks = ready(with_pod(bad))
    found = looks.condition("Ready")
    assert looks.says("Ready") == ("False", reason)
    assert [word for word in words if word not in found.message] == []
    assert "1 pod read on." in found.message
    assert looks.told["state"] == ("NotReady" if reason == "PodsNotReady" else reason)
    assert looks.until_told() == [("Warning", reason)]


def test_a_handler_that_fails_at_once_is_told_alike_while_it_runs_and_while_it_waits() -> None:
    bad = fails("m1", 78, NOT_THERE)
    looks = ready(with_pod(bad))
    runs = replace(bad.container, waiting="", running=Running(NOW), restarts=4)
    looks.seen.pods["m1"] = replace(bad, container=runs)
    looks.look(after_s=1.0)
    assert looks.says("Ready") == ("False", "HandlerNotImported")
    assert looks.events == []


def test_a_new_revision_that_cannot_run_is_told_although_the_old_one_reads_on() -> None:
    seen = group(2, 4)
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r2")
    seen.pods["n0"] = waits("n0", "ErrImagePull", "not found", revision="r2")
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "ImageCannotBePulled")
    assert "2 pods read on." in looks.condition("Ready").message


def test_a_rollout_that_goes_well_does_not_change_it() -> None:
    seen = group(2, 4)
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r2")
    seen.pods["n0"] = starting("n0", revision="r2")
    looks = ready(seen)
    assert looks.says("Ready") == ("True", "Ready")
    assert looks.says("Scaling") == ("True", "RollingOut")


def test_what_explains_most_is_told_first_and_how_many_are_alike() -> None:
    seen = with_pod(fails("m1", 1, "ValueError: bad"))
    seen.pods["m2"] = fails("m2", 78, NOT_THERE)
    seen.pods["m3"] = fails("m3", 78, NOT_THERE)
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "HandlerNotImported")
    assert "So it is with 1 more pod." in looks.condition("Ready").message


def test_what_a_pod_said_is_one_line_that_a_terminal_shows_as_it_is() -> None:
    looks = ready(with_pod(fails("m1", 1, "a\n\x1b[31mred" + "x" * 5000)))
    message = looks.condition("Ready").message
    assert message.isprintable()
    assert len(message) <= 1024
