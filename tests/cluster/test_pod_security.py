"""The operator's checks of pod templates beside those of a real API server, sample by sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl, as_list
from support.pod_samples import SAMPLES, Sample
from support.wait import wait_until
from tidegate_operator.pod_security import Profile, flaws

COMPARED = [sample for sample in SAMPLES if not sample.is_ours_alone]


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with bare_control_plane(kube_programs, folder, ["--allow-privileged"]) as kubectl:
        yield kubectl


def name_of(sample: Sample) -> str:
    return f"sample-{SAMPLES.index(sample)}"


def refused_by(api: Kubectl, profile: Profile) -> dict[str, str]:
    """The samples that a namespace with a profile does not let in, and the reasons."""
    inside = replace(api, namespace=f"with-{profile}")
    api.said("create", "namespace", inside.namespace)
    label = f"pod-security.kubernetes.io/enforce={profile}"
    api.said("label", "namespace", inside.namespace, label)
    wait_until(
        lambda: inside.tried("get", "serviceaccount", "default").returncode == 0,
        20, "the account of its pods",
    )  # fmt: skip
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**each.document["metadata"], "name": name_of(each)},
            "spec": each.document["spec"],
        }
        for each in COMPARED
    ]
    asked = inside.tried(
        "create", "--dry-run=server", "--filename", "-", stdin=as_list(tuple(pods))
    )
    let_in = set(re.findall(r"pod/(\S+) created", asked.stdout))
    refusals = {each: line for line in asked.stderr.splitlines() for each in names_in(line)}
    without_answer = [
        name_of(each) for each in COMPARED if name_of(each) not in let_in | refusals.keys()
    ]
    assert not without_answer, f"{without_answer}: {asked.stderr}"
    return {name: line for name, line in refusals.items() if name not in let_in}


def names_in(line: str) -> list[str]:
    return re.findall(r"\b(sample-\d+)\b", line) if "rror" in line else []


@pytest.mark.parametrize("profile", Profile)
def test_both_let_the_same_pods_in(api: Kubectl, profile: Profile) -> None:
    theirs = refused_by(api, profile)
    invalid = [line for line in theirs.values() if "violates PodSecurity" not in line]
    assert not invalid, "samples that no profile lets pass: " + "\n".join(invalid)
    ours = {name_of(each) for each in COMPARED if [*flaws(each.document, "spec.template", profile)]}
    described = {name_of(each): str(each) for each in COMPARED}
    differing = {described[name]: theirs.get(name, "let in") for name in ours ^ theirs.keys()}
    assert not differing
