"""Which cluster is meant, and which namespace of it: as kubectl would choose them."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kubernetes import config
from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION

from tidegate_operator.kube import NO_KUBECONFIG, Kube, connect, connected
from tidegate_operator.kube_errors import Denied
from tidegate_operator.plugin.cluster import FIELD_MANAGER, Cluster

_config: Any = config
_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@asynccontextmanager
async def the_cluster(arguments: argparse.Namespace) -> AsyncIterator[Cluster]:
    """The cluster that the arguments mean, as kubectl would choose it. Raises KubeError."""
    kubeconfig = arguments.kubeconfig or _usual_kubeconfig()
    namespace = arguments.namespace or _namespace(kubeconfig, arguments.context)

    def make() -> Kube:
        return connect(
            kubeconfig=kubeconfig, context=arguments.context, field_manager=FIELD_MANAGER
        )

    async with connected(make) as kube:
        yield Cluster(kube, namespace)


def _usual_kubeconfig() -> str | None:
    """KUBECONFIG or the usual file, before what a pod has of its own; None where neither is."""
    found = os.environ.get("KUBECONFIG")
    if found:
        return found
    usual = Path(KUBE_CONFIG_DEFAULT_LOCATION).expanduser()
    return str(usual) if usual.exists() else None


def _namespace(kubeconfig: str | None, context: str | None) -> str:
    """The namespace that the context names."""
    if kubeconfig is None:
        here = _POD_NAMESPACE
        return here.read_text(encoding="utf-8").strip() if here.exists() else "default"
    try:
        contexts, active = _config.list_kube_config_contexts(kubeconfig)
        return _named(contexts, active, context)
    except NO_KUBECONFIG as problem:
        raise Denied(
            f"the kubeconfig {kubeconfig} cannot be read: {type(problem).__name__}: {problem}"
        ) from problem


def _named(contexts: Any, active: Any, context: str | None) -> str:
    if context is not None:
        found = [each for each in contexts if each["name"] == context]
        if not found:
            known = ", ".join(each["name"] for each in contexts)
            raise Denied(f"the kubeconfig has no context '{context}'; it has: {known}")
        active = found[0]
    return str((active or {}).get("context", {}).get("namespace") or "default")
