"""The version before this one, installed by its own chart, to go on to this one and back.

Rules: it is a whole one, its chart, its kind and its images, as cluster/previous.py takes them from
git. At the end the kind of this version is on the cluster.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.cluster_api import until
from support.cluster_group import Group
from support.cluster_kubectl import Kubectl
from support.cluster_release import Release, a_release, apply_kind
from support.helm_chart import Helm

PREVIOUS = os.environ.get("TIDEGATE_PREVIOUS_IMAGE", "")
PREVIOUS_SPARK = os.environ.get("TIDEGATE_PREVIOUS_SPARK_IMAGE", "")


@contextlib.contextmanager
def previous_release(program: Path, folder: Path, cluster: Kubectl) -> Iterator[Release]:
    """The version before, with hub and storage of this one."""
    tree = os.environ.get("TIDEGATE_PREVIOUS")
    assert tree and PREVIOUS, "there is no version before: run `make test-upgrade`, which builds it"
    chart = Path(tree, "charts", "tidegate")
    helm = Helm(program, folder, cluster.kubeconfig)
    image, spark = _image(PREVIOUS), PREVIOUS_SPARK
    try:
        with a_release(helm, cluster, chart, image=image, sparkImage=spark) as release:
            yield release
    finally:
        apply_kind(cluster)


def _image(name: str) -> dict[str, Any]:
    repository, _, tag = name.rpartition(":")
    return {"repository": repository, "tag": tag}


def images_of(group: Group) -> set[str]:
    """Those of all containers of its pods."""
    return {each["image"] for pod in group.pods() for each in pod["spec"]["containers"]}


def until_led(release: Release, wanted: str) -> None:
    """Until the operator that acts is of the image."""

    def is_led() -> bool:
        found = release.api.list("pods", "app.kubernetes.io/name=tidegate-operator")
        led = [pod for pod in found if release.leader().startswith(pod["metadata"]["name"])]
        return [pod["spec"]["containers"][0]["image"] for pod in led] == [wanted]

    release.until_ready()
    until(is_led, 60, f"an operator of {wanted} to lead")
