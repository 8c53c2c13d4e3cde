"""What happens to an operator in its life, as far as each right of its roles is used in it.

Rules: each function is one thing that happens, and waits until it has; what a node or a driver of
Spark would do is played. Rare things are made to happen: a watch that falls silent, an Event that
is told again, what somebody has deleted that no watch tells of.
"""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.audited_rights import Right, granted, used_and_refused, without
from support.cluster_kubectl import Kubectl
from support.fault_proxy import fault_proxy
from support.helm_chart import NAMESPACE
from support.operated_place import LATER, Place
from support.operator_process import (
    OperatorProcess,
    kubeconfig_through,
    operator_process,
    port_of,
)
from support.wait import wait_until
from tidegate_operator.executors import set_name

_ROUNDS = "tidegate_operator_reconcile_seconds_count"
ACCOUNT = "tidegate-operator"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
# Asked by the API server itself where an object is owned by a group: no request is logged for it.
OWNING = Right("tidegate.dev", "consumergroups/finalizers", "update")


@dataclass
class Lived:
    """A control plane on which an operator has the rights of the chart."""

    admin: Kubectl
    place: Place
    folder: Path
    kubeconfig: Path
    roles: list[dict[str, Any]]

    def used(self) -> tuple[set[Right], set[Right]]:
        return used_and_refused(self.folder, USER)

    def until_used(self, *rights: Right, seconds: float = LATER) -> None:
        """Until the audit log has them."""
        wait_until(
            lambda: not set(rights) - self.used()[0],
            seconds,
            f"{', '.join(map(str, rights))} to be used",
            lambda: "used: " + ", ".join(sorted(map(str, self.used()[0]))),
        )


def a_group_of_python(lived: Lived, operator: OperatorProcess) -> None:
    """Made, changed by others, scaled, with an account of its own; nothing runs its pods."""
    place, admin = lived.place, lived.admin
    admin.said("create", "configmap", "code", "--from-literal=handler.py=def handle(e, c): pass")
    place.put_secret()
    place.put_group(handler={"code": "handler.py:handle", "configMap": "code"})
    place.until("its Deployment", lambda: place.replicas() == 1, LATER)
    for _ in range(2):  # what is the same the second time is told as the first one again
        admin.said("scale", "cg/home", "--replicas=3")
        place.until("three replicas", lambda: place.replicas() == 3, LATER)
        place.until("their pods", lambda: len(admin.read("pods")["items"]) >= 3, LATER)
        admin.said("scale", "cg/home", "--replicas=1")
        place.until("one replica", lambda: place.replicas() == 1, LATER)
    admin.said("delete", "deployment", "home")
    place.until("the Deployment to be back", lambda: place.there("deployment"), LATER)
    told_again = Right("", "events", "patch")

    def is_told_again() -> bool:
        """What happens once more in the same words is told by the same Event."""
        for paused in (True, False):
            change(admin, "home", paused=paused)
            looked = operator.metric(_ROUNDS)
            place.until("two rounds", lambda: operator.metric(_ROUNDS) > looked + 1, LATER)  # noqa: B023
        return told_again in lived.used()[0]

    wait_until(is_told_again, 2 * LATER, "an Event to be told again", place.told)
    # Then the account that was made for it is nobody's.
    admin.said("create", "serviceaccount", "own")
    change(admin, "home", serviceAccountName="own")
    place.until("its account to be gone", lambda: place.there("serviceaccount") is None, LATER)


def change(admin: Kubectl, name: str, **spec: Any) -> None:
    """A group's spec, as people do it."""
    changes = json.dumps({"spec": spec})
    admin.said("patch", "cg", name, "--type=merge", "--patch", changes)


def a_group_on_spark(lived: Lived) -> None:
    """Its driver's part is played: the StatefulSet of its executors, and what it says of itself."""
    place, admin = lived.place, lived.admin
    place.put_group("counts", engine="spark", handler={"code": "pipeline.py:pipeline"})
    label = "tidegate.dev/group=counts,tidegate.dev/role=driver"

    def driver() -> dict[str, Any] | None:
        found = admin.read("pods", "-l", label)["items"]
        return found[0] if found else None

    place.until("the driver", driver, LATER)
    pod = driver()
    assert pod is not None
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    began = time.time()
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began - 5))
    status = {
        "name": "driver",
        "restartCount": 0,
        "ready": True,
        "image": "i",
        "imageID": "",
        "state": {"running": {"startedAt": at}},
    }
    admin.said(
        "patch",
        "pod",
        name,
        "--subresource=status",
        "--type=merge",
        "--patch",
        json.dumps({"status": {"phase": "Running", "containerStatuses": [status]}}),
    )

    def says(application: str) -> None:
        note = {"applicationId": application, "startedAt": began, "phase": "running"}
        admin.said("annotate", "pod", name, "--overwrite", f"tidegate.dev/spark={json.dumps(note)}")

    admin.apply(executors("app-1", name, uid, replicas=1))
    says("app-1")
    # Their ServiceAccount is not there, so that no pod is made.
    lived.until_used(Right("apps", "statefulsets", "get"), Right("", "events", "list"))
    change(admin, "counts", replicas=2)
    lived.until_used(Right("apps", "statefulsets", "patch"))
    admin.said("create", "serviceaccount", "executors")
    place.until(
        "an executor",
        lambda: len(admin.read("pods", "-l", "spark-app-selector=app-1")["items"]) > 0,
        LATER,
    )
    says("app-2")
    lived.until_used(Right("apps", "statefulsets", "delete"))


def executors(application: str, driver: str, uid: str, *, replicas: int) -> dict[str, Any]:
    labels = {
        "spark-app-selector": application,
        "spark-exec-id": "1",
        "tidegate.dev/group": "counts",
        "tidegate.dev/role": "executor",
    }
    container = {"name": "executor", "image": "none.example/spark:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": set_name(application),
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": driver, "uid": uid, "controller": True}
            ],
        },
        "spec": {
            "replicas": replicas,
            "serviceName": "none",
            "selector": {"matchLabels": {"spark-app-selector": application}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"serviceAccountName": "executors", "containers": [container]},
            },
        },
    }


def somebody_looks_at_the_console(lived: Lived, port: int) -> None:
    lived.admin.said("create", "serviceaccount", "somebody")
    token = lived.admin.said("create", "token", "somebody").strip()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(
        "GET", f"/groups/{NAMESPACE}/counts/live", headers={"Authorization": f"Bearer {token}"}
    )
    answer = connection.getresponse()
    connection.close()
    assert answer.status == 404, "who may see no group does not hear that there is one"


def a_group_that_goes_with_its_ledger(lived: Lived) -> None:
    place = lived.place
    place.put_group("gone", ledger={"onDelete": "Delete"})
    place.until("its Deployment", lambda: place.replicas("gone") == 1, LATER)
    place.until(
        "the finalizer",
        lambda: (place.there("cg", "gone") or {})["metadata"].get("finalizers"),
        LATER,
    )
    place.inside.said("delete", "cg", "gone", "--wait=true", "--timeout=60s")


def something_that_nobody_watches(lived: Lived) -> None:
    """It is listed once a minute, and what somebody has deleted is made again."""
    place, authorization = lived.place, "rbac.authorization.k8s.io"
    lived.admin.said("delete", "rolebinding", "counts-driver")
    place.until("it to be back", lambda: place.there("rolebinding", "counts-driver"), 2 * LATER)
    lived.until_used(
        *(Right("", kind, "list") for kind in ("configmaps", "services", "serviceaccounts")),
        *(Right(authorization, kind, "list") for kind in ("roles", "rolebindings")),
        Right("policy", "poddisruptionbudgets", "list"),
    )


def a_watch_that_falls_silent(lived: Lived, folder: Path) -> None:
    """What it has not told of is read object by object."""
    admin, place = lived.admin, lived.place
    with fault_proxy(port_of(lived.kubeconfig), is_http=False) as proxy:
        kubeconfig = kubeconfig_through(lived.kubeconfig, proxy.port, folder)
        with operator_process(admin, folder, "cut", kubeconfig) as operator:
            operator.until_leading()
            place.until("one replica", lambda: place.replicas() == 1, LATER)
            proxy.freeze()
            admin.said("scale", "cg/home", "--replicas=2")
            lived.until_used(Right("tidegate.dev", "consumergroups", "get"), seconds=120.0)
            assert operator.process.poll() is None


def is_needed_to_own(lived: Lived) -> None:
    """An object that a group owns cannot be made without it where the cluster asks for it."""
    admin = lived.admin
    group = admin.read("cg", "home")
    owner = {
        "apiVersion": group["apiVersion"],
        "kind": group["kind"],
        "name": "home",
        "uid": group["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    owned = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "owned", "ownerReferences": [owner]},
    }
    (role,) = (each for each in lived.roles if OWNING in granted([each]))
    admin.said(
        "apply",
        "--server-side",
        "--force-conflicts",
        "-f",
        "-",
        stdin=as_stream([without(role, OWNING)]),
    )

    def refusal() -> str:
        tried = admin.tried(
            "apply", "--server-side", f"--as={USER}", "-f", "-", stdin=as_stream([owned])
        )
        return tried.stderr

    wait_until(lambda: "blockOwnerDeletion" in refusal(), LATER, "the refusal", refusal)
    admin.said("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=as_stream([role]))
    wait_until(lambda: not refusal(), LATER, "the right to be back", refusal)


def as_stream(documents: list[Any]) -> str:
    return "---\n".join(json.dumps(each) + "\n" for each in documents)
