"""The chart as helm renders it, and what holds for all that it renders.

Rules: a check gives the sentences that say what is wrong, none if nothing is, so that a test shows
all of them at once.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from support.tree import ROOT

CHART = ROOT / "charts" / "tidegate"
RELEASE, NAMESPACE = "tidegate", "tidegate-system"
NEEDS_NO_NAMESPACE = {"ClusterRole", "ClusterRoleBinding"}
LABELS = {
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}

Document = dict[str, Any]


class Helm:
    """helm, kept from the settings of the machine; it asks the cluster that it is given, if any."""

    def __init__(self, program: Path, folder: Path, kubeconfig: Path | None = None) -> None:
        self._program = program
        self._environment = {
            "PATH": os.environ["PATH"],
            # Where what was asked of a cluster is kept.
            "HOME": str(folder),
            **{f"HELM_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG", "DATA")},
            "KUBECONFIG": str(kubeconfig or folder / "none"),
        }
        self._folder = folder

    def tried(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._program), *arguments], input=stdin, capture_output=True, text=True,
            timeout=60, check=False, env=self._environment,
        )  # fmt: skip

    def rendered(self, *arguments: str, **values: Any) -> list[Document]:
        """Every document that the chart gives with these values."""
        ran = self.tried(*self._template(values), *arguments)
        assert ran.returncode == 0, f"{values}: {ran.stderr}"
        return [each for each in yaml.safe_load_all(ran.stdout) if each is not None]

    def refusal(self, **values: Any) -> str:
        """What it says of values that it does not take."""
        ran = self.tried(*self._template(values))
        assert ran.returncode != 0, f"{values} were taken"
        return ran.stderr

    def _template(self, values: Document) -> list[str]:
        path = self._folder / "values.json"
        path.write_text(json.dumps(values), encoding="utf-8")
        return ["template", RELEASE, str(CHART), "--namespace", NAMESPACE, "--values", str(path)]


def of_kind(documents: Iterable[Document], *kinds: str) -> list[Document]:
    return [each for each in documents if each["kind"] in kinds]


def only(documents: Iterable[Document], kind: str, name: str) -> Document:
    (found,) = (each for each in of_kind(documents, kind) if each["metadata"]["name"] == name)
    return found


def operator_of(documents: Iterable[Document]) -> Document:
    """The container of the operator."""
    deployment = only(documents, "Deployment", "tidegate-operator")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


# --- what holds for all of it


def wrong_names(documents: list[Document]) -> Iterator[str]:
    """Each object has a name of its own, a namespace where its kind has one, and all labels."""
    names = Counter(
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in documents
    )
    yield from (f"{name} is there {count} times" for name, count in names.items() if count > 1)
    for each in documents:
        meta, kind = each["metadata"], each["kind"]
        if ("namespace" in meta) == (kind in NEEDS_NO_NAMESPACE):
            yield f"{kind} {meta['name']}: namespace {meta.get('namespace')}"
        missing = LABELS - meta["labels"].keys()
        if missing:
            yield f"{kind} {meta['name']} has no label {sorted(missing)}"
        if len(meta["name"]) > 63:
            yield f"{kind} {meta['name']}: the name is too long"


def wrong_pods(documents: list[Document]) -> Iterator[str]:
    """Every pod keeps to the restricted profile, and has limits."""
    for name, spec in pods(documents):
        pod = spec["securityContext"]
        if not pod.get("runAsNonRoot") or pod.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{name}: {pod}"
        for place in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(place):
                yield f"{name}: {place}"
        if "automountServiceAccountToken" not in spec:
            yield f"{name} does not say whether it has a token"
        for container in spec["containers"]:
            context = container["securityContext"]
            if context != {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }:
                yield f"{name}/{container['name']}: {context}"
            if "memory" not in container["resources"].get("limits", {}):
                yield f"{name}/{container['name']} has no limit of memory"
            tag = container["image"].rpartition(":")[2]
            if tag == "latest" or "/" in tag:
                yield f"{name}/{container['name']}: which version is {container['image']}?"


def wrong_selectors(documents: list[Document]) -> Iterator[str]:
    """What chooses pods chooses exactly those of one of the release's templates."""
    labels = [
        each["spec"]["template"]["metadata"]["labels"] for each in of_kind(documents, "Deployment")
    ]
    for each in of_kind(documents, "Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"):
        spec = each["spec"]
        chosen = spec.get("selector") or spec["podSelector"]
        chosen = chosen.get("matchLabels", chosen)
        count = sum(chosen.items() <= one.items() for one in labels)
        if count != 1:
            yield f"{each['kind']} {each['metadata']['name']} chooses {count} templates: {chosen}"
    for one in labels:
        if one["app.kubernetes.io/name"] == "tidegate":
            yield "the name 'tidegate' is that of consumers, which the operator makes"


def wrong_rights(documents: list[Document]) -> Iterator[str]:
    """Nothing is a wildcard, secrets are read by name, and each role is given to the operator."""
    roles = {
        (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
        for each in of_kind(documents, "Role", "ClusterRole")
    }
    for each in of_kind(documents, "Role", "ClusterRole"):
        for rule in each["rules"]:
            if any("*" in word for words in rule.values() for word in words):
                yield f"{each['metadata']['name']}: a wildcard in {rule}"
            if "secrets" in rule["resources"] and rule["verbs"] != ["get"]:
                yield f"{each['metadata']['name']}: {rule}"
    (account,) = {
        each["spec"]["template"]["spec"].get("serviceAccountName")
        for each in of_kind(documents, "Deployment")
        if each["metadata"]["labels"]["app.kubernetes.io/name"] == "tidegate-operator"
    }
    for each in of_kind(documents, "RoleBinding", "ClusterRoleBinding"):
        where = each["metadata"].get("namespace")
        kind, name = each["roleRef"]["kind"], each["roleRef"]["name"]
        if (kind, where if kind == "Role" else None, name) not in roles:
            yield f"{each['metadata']['name']} binds {kind} {name}, which is not there"
        wanted = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
        if each["subjects"] != [wanted]:
            yield f"{each['metadata']['name']} binds to {each['subjects']}"


def pods(documents: list[Document]) -> Iterator[tuple[str, Document]]:
    """The spec of every pod."""
    for each in of_kind(documents, "Deployment"):
        yield each["metadata"]["name"], each["spec"]["template"]["spec"]
    for each in of_kind(documents, "Pod"):
        yield each["metadata"]["name"], each["spec"]


def everything_wrong(documents: list[Document]) -> list[str]:
    checks = (wrong_names, wrong_pods, wrong_selectors, wrong_rights)
    return [sentence for check in checks for sentence in check(documents)]
