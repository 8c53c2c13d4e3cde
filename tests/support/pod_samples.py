"""Pod templates for every control of the Pod Security Standards, and the profiles that refuse them.

Rules: each sample differs from one that passes `restricted` in what it is about, and the API server
takes it in a namespace without a profile, unless `is_ours_alone`. Tests compare samples with the
operator's own checks and, on a control plane, with those of the API server.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate_operator.engines.pod import CONFINED, NOBODY
from tidegate_operator.pod_security import MOST_CONTAINERS, Profile

Document = dict[str, Any]
RESTRICTED, BASELINE, PRIVILEGED = Profile.RESTRICTED, Profile.BASELINE, Profile.PRIVILEGED


@dataclass(frozen=True, slots=True)
class Sample:
    """A template, and the strictest profile that lets it pass."""

    control: str
    passes: Profile
    # The path that a profile refuses.
    path: str
    document: Document
    # Only in templates: the API server takes no such pod, or has another opinion for a reason.
    is_ours_alone: bool = False

    def __str__(self) -> str:
        return f"{self.control}: {self.path or 'nothing'}"


def container(name: str = "side", **fields: Any) -> Document:
    """One that passes `restricted`, with more fields; a map of theirs is merged."""
    return merged({"name": name, "image": "side:1", "securityContext": CONFINED}, fields)


def template(
    spec: Mapping[str, Any] | None = None,
    *containers: Document,
    annotations: Mapping[str, str] | None = None,
) -> Document:
    """One that passes `restricted`, with more in it."""
    ours = {
        "metadata": {"annotations": dict(annotations or {})},
        "spec": {"securityContext": NOBODY, "containers": [container("consumer"), *containers]},
    }
    return merged(ours, {"spec": spec or {}})


def merged(ours: Document, theirs: Mapping[str, Any]) -> Document:
    found = copy.deepcopy(ours)
    for key, value in theirs.items():
        inner = found.get(key)
        is_map = isinstance(inner, dict) and isinstance(value, Mapping)
        found[key] = merged(found[key], value) if is_map else value
    return {key: value for key, value in found.items() if value is not None}


def _of_pod(control: str, passes: Profile, path: str, **fields: Any) -> Sample:
    return Sample(control, passes, f"spec.{path}" if path else "", template(fields))


def _of_context(control: str, passes: Profile, path: str, **fields: Any) -> tuple[Sample, ...]:
    """In the pod's security context, a container's and an init container's."""
    at = f"securityContext.{path}"
    inner = container(securityContext=fields)
    return (
        Sample(control, passes, f"spec.{at}", template({"securityContext": fields})),
        *_of_container(control, passes, path, inner),
    )


def _of_container(
    control: str, passes: Profile, path: str, side: Document, at: str = "securityContext."
) -> tuple[Sample, ...]:
    whole = f"{at}{path}"
    ephemeral = {"ephemeralContainers": [side]}
    return (
        Sample(control, passes, f"spec.containers[side].{whole}", template(None, side)),
        Sample(
            control, passes, f"spec.initContainers[side].{whole}",
            template({"initContainers": [side]}),
        ),
        Sample(
            control, passes, f"spec.ephemeralContainers[side].{whole}", template(ephemeral),
            is_ours_alone=True,
        ),
    )  # fmt: skip


def _in_container(control: str, passes: Profile, path: str, **fields: Any) -> tuple[Sample, ...]:
    return _of_container(control, passes, path, container(securityContext=fields))


def _volume(passes: Profile, path: str, **source: Any) -> Sample:
    control = "HostPath Volumes" if "hostPath" in source else "Volume Types"
    volume = {"name": "more", **source}
    return _of_pod(control, passes, f"volumes[more]{path}", volumes=[volume])


def _asked(way: str, path: str, **fields: Any) -> Sample:
    at = f"spec.containers[side].{path}.{way}.host"
    return Sample(_PROBES, PRIVILEGED, at, template(None, container(**fields)))


_PROBES = "Host Probes / Lifecycle Hooks"
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/consumer"
_MANY = [container(f"c{number}") for number in range(MOST_CONTAINERS)]

_LET_BY_ALL: tuple[Document, ...] = (
    {"configMap": {"name": "x"}},
    {"csi": {"driver": "x.example"}},
    {"downwardAPI": {}},
    {"emptyDir": {}},
    {"persistentVolumeClaim": {"claimName": "x"}},
    {"projected": {"sources": [{"secret": {"name": "x"}}]}},
    {"secret": {"secretName": "x"}},
    {"ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }}}},
    {},
)  # fmt: skip

SAMPLES: tuple[Sample, ...] = (
    Sample("none", RESTRICTED, "", template()),
    Sample("none", RESTRICTED, "", template(None, container(), annotations={_APPARMOR: ""})),
    # HostProcess
    *(
        Sample(
            each.control, each.passes, each.path, each.document, is_ours_alone=True
        )  # a pod of Windows alone may have it
        for each in _of_context(
            "HostProcess", PRIVILEGED, "windowsOptions.hostProcess",
            windowsOptions={"hostProcess": True},
        )
    ),
    # Host Namespaces
    _of_pod("Host Namespaces", PRIVILEGED, "hostNetwork", hostNetwork=True),
    _of_pod("Host Namespaces", PRIVILEGED, "hostPID", hostPID=True),
    _of_pod("Host Namespaces", PRIVILEGED, "hostIPC", hostIPC=True),
    _of_pod("Host Namespaces", RESTRICTED, "", hostNetwork=False, hostPID=False),
    # Privileged Containers
    *_in_container(
        "Privileged Containers", PRIVILEGED, "privileged", privileged=True,
        allowPrivilegeEscalation=None,
    ),
    # Capabilities
    *_in_container(
        "Capabilities", PRIVILEGED, "capabilities.add",
        capabilities={"drop": ["ALL"], "add": ["NET_RAW"]},
    ),
    *_in_container(
        "Capabilities", BASELINE, "capabilities.add",
        capabilities={"drop": ["ALL"], "add": ["CHOWN"]},
    ),
    *_in_container(
        "Capabilities", RESTRICTED, "",
        capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    ),
    *_in_container("Capabilities", BASELINE, "capabilities.drop", capabilities={"drop": ["CHOWN"]}),
    *_in_container("Capabilities", BASELINE, "capabilities.drop", capabilities=None),
    # Volumes
    _volume(PRIVILEGED, ".hostPath", hostPath={"path": "/"}),
    _volume(BASELINE, "", nfs={"server": "host", "path": "/"}),
    *(
        _volume(RESTRICTED, "", **source)
        for source in _LET_BY_ALL
    ),
    # Host Ports
    *_of_container(
        "Host Ports", PRIVILEGED, "ports[0].hostPort",
        container(ports=[{"containerPort": 80, "hostPort": 80}]), at="",
    ),
    *_of_container(
        "Host Ports", RESTRICTED, "", container(ports=[{"containerPort": 80}]), at="",
    ),
    # Host Probes / Lifecycle Hooks
    *(
        _asked(way, name, **{name: {way: {"port": 80, "host": "10.0.0.1"}}})
        for name in ("livenessProbe", "readinessProbe", "startupProbe")
        for way in ("httpGet", "tcpSocket")
    ),
    *(
        _asked(way, f"lifecycle.{name}", lifecycle={name: {way: {"port": 80, "host": "10.0.0.1"}}})
        for name in ("preStop", "postStart")
        for way in ("httpGet", "tcpSocket")
    ),
    Sample(
        _PROBES, RESTRICTED, "",
        template(None, container(livenessProbe={"httpGet": {"port": 80, "path": "/"}})),
    ),
    # AppArmor
    *_of_context(
        "AppArmor", PRIVILEGED, "appArmorProfile.type", appArmorProfile={"type": "Unconfined"}
    ),
    *_of_context(
        "AppArmor", RESTRICTED, "",
        appArmorProfile={"type": "Localhost", "localhostProfile": "mine"},
    ),
    Sample(
        "AppArmor", PRIVILEGED, f"metadata.annotations[{_APPARMOR}]",
        template(annotations={_APPARMOR: "unconfined"}),
    ),
    Sample("AppArmor", RESTRICTED, "", template(annotations={_APPARMOR: "localhost/mine"})),
    Sample("AppArmor", RESTRICTED, "", template(annotations={_APPARMOR: "runtime/default"})),
    # SELinux
    *_of_context(
        "SELinux", PRIVILEGED, "seLinuxOptions.type", seLinuxOptions={"type": "spc_t"}
    ),
    *_of_context("SELinux", PRIVILEGED, "seLinuxOptions.user", seLinuxOptions={"user": "root"}),
    *_of_context("SELinux", PRIVILEGED, "seLinuxOptions.role", seLinuxOptions={"role": "sys"}),
    *_of_context(
        "SELinux", RESTRICTED, "", seLinuxOptions={"type": "container_t", "level": "s0:c1"}
    ),
    # /proc Mount Type: without a user namespace the API server takes no other.
    *(
        Sample(each.control, each.passes, each.path, each.document, is_ours_alone=True)
        for each in _in_container("/proc Mount Type", PRIVILEGED, "procMount", procMount="Unmasked")
    ),
    *_in_container("/proc Mount Type", RESTRICTED, "", procMount="Default"),
    # Seccomp
    *_of_context(
        "Seccomp", PRIVILEGED, "seccompProfile.type", seccompProfile={"type": "Unconfined"}
    ),
    *_of_context(
        "Seccomp", RESTRICTED, "",
        seccompProfile={"type": "Localhost", "localhostProfile": "mine.json"},
    ),
    Sample(
        "Seccomp", BASELINE, "spec.containers[consumer].securityContext.seccompProfile",
        template({"securityContext": {"seccompProfile": None}}),
    ),
    # Sysctls
    _of_pod(
        "Sysctls", PRIVILEGED, "securityContext.sysctls[kernel.msgmax]",
        securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
    ),
    _of_pod(
        "Sysctls", RESTRICTED, "",
        securityContext={"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]},
    ),
    # Privilege Escalation
    *_in_container(
        "Privilege Escalation", BASELINE, "allowPrivilegeEscalation",
        allowPrivilegeEscalation=True,
    ),
    *_in_container(
        "Privilege Escalation", BASELINE, "allowPrivilegeEscalation",
        allowPrivilegeEscalation=None,
    ),
    # Running as Non-root
    *_in_container("Running as Non-root", BASELINE, "runAsNonRoot", runAsNonRoot=False),
    _of_pod(
        "Running as Non-root", BASELINE, "securityContext.runAsNonRoot",
        securityContext={"runAsNonRoot": False},
    ),
    _of_pod(
        "Running as Non-root", BASELINE, "containers[consumer].securityContext.runAsNonRoot",
        securityContext={"runAsNonRoot": None},
    ),
    Sample(
        "Running as Non-root", RESTRICTED, "",
        merged(
            template({"securityContext": {"runAsNonRoot": None}}),
            {"spec": {"containers": [container(securityContext={"runAsNonRoot": True})]}},
        ),
    ),
    # Running as Non-root user
    *_of_context("Running as Non-root user", BASELINE, "runAsUser", runAsUser=0),
    # Number of Containers: a bound of ours.
    Sample("Number of Containers", RESTRICTED, "", merged(
        template(), {"spec": {"containers": _MANY}}
    )),
    Sample(
        "Number of Containers", PRIVILEGED, "spec.containers", template(None, *_MANY),
        is_ours_alone=True,
    ),
    Sample(
        "Number of Containers", PRIVILEGED, "spec.initContainers",
        template({"initContainers": [*_MANY, container()]}), is_ours_alone=True,
    ),
)  # fmt: skip
