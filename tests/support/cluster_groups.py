"""ConsumerGroups for tests: the examples as documents, and a control plane that knows the kind."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl
from support.tree import ROOT
from tidegate_operator.crd import CRD_NAME

Document = dict[str, Any]

CRD = ROOT / "crds" / "consumergroups.yaml"
EXAMPLES = (
    ROOT / "examples" / "consumergroup.yaml",
    *sorted((ROOT / "examples" / "cluster").glob("*.yaml")),
)


def example(name: str) -> Document:
    """The ConsumerGroup of an example."""
    (path,) = (path for path in EXAMPLES if path.name == name)
    documents = yaml.safe_load_all(path.read_text(encoding="utf-8"))
    (found,) = (each for each in documents if each["kind"] == "ConsumerGroup")
    return dict(found)


def changed(document: Document, path: str, value: Any) -> Document:
    """A copy with another value at a place, `a.b.c`; None takes the key out."""
    found = copy.deepcopy(document)
    *folders, last = path.split(".")
    inner = found
    for folder in folders:
        inner = inner[folder]
    inner.pop(last, None)
    if value is not None:
        inner[last] = value
    return found


@contextlib.contextmanager
def control_plane_with_groups(programs: Path, folder: Path) -> Iterator[Kubectl]:
    """A bare control plane with the kind installed."""
    with bare_control_plane(programs, folder) as kubectl:
        kubectl.said("apply", "--server-side", "-f", str(CRD))
        kubectl.said("wait", "--for=condition=Established", f"crd/{CRD_NAME}", "--timeout=20s")
        yield kubectl
