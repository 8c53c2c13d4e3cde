"""`tidegate conformance` as a person runs it, against the release that the cluster tests share.

Rules: it is the command, as a process of its own; what it leaves behind is looked for by its label.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.cluster_kubectl import Kubectl
from support.cluster_release import OPERATOR, Release
from support.wait import wait_until
from tidegate_operator.conformance.options import LABEL

TIDEGATE = Path(sys.executable).with_name("tidegate")
_KINDS = "consumergroups,pods,services,secrets,configmaps"


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended, what it said, and its report."""

    code: int
    said: str
    told: str
    report: dict[str, Any]

    def outcome(self, name: str) -> str:
        (found,) = (each for each in self.report["properties"] if each["name"] == name)
        return str(found["outcome"])

    @property
    def held(self) -> set[str]:
        return {each["name"] for each in self.report["properties"] if each["outcome"] == "held"}

    @property
    def done(self) -> set[str]:
        """The kinds of disturbances that were."""
        return {each["kind"] for each in self.report["disturbances"] if not each["refused"]}


def command(release: Release, *words: str) -> list[str]:
    return [
        str(TIDEGATE), "conformance", "--namespace", release.namespace,
        "--operator", f"{release.namespace}/{OPERATOR}", *words,
    ]  # fmt: skip


def environment(release: Release, who: Path | None = None) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(who or release.inside.kubeconfig)}


def conformance(release: Release, folder: Path, *words: str, who: Path | None = None) -> Ran:
    """A whole run, by the administrator or who a kubeconfig names."""
    ran = subprocess.run(
        command(release, "--report", str(folder), *words), env=environment(release, who),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    file = folder / "report.json"
    report = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return Ran(ran.returncode, ran.stdout, ran.stderr, report)


def until_nothing_is_left(inside: Kubectl) -> None:
    """Of any run; the Secret goes after the object that it belongs to."""

    def left() -> list[str]:
        found = inside.read(_KINDS, "--selector", LABEL)["items"]
        return [f"{each['kind']} {each['metadata']['name']}" for each in found]

    wait_until(lambda: not left(), 30, "all of the run to be removed", left)
