"""The Pod Security Standards of Kubernetes: the fields of a pod template that a profile refuses.

Rules: pure. Each control of the standard (of Kubernetes 1.34) is one function, in `BASELINE` or in
`RESTRICTED` by its name there. A value of a wrong type is no flaw here: the API server refuses the
object that has it. Two things differ from the standard: the number of containers is bounded, and
there are no exceptions for Windows and for user namespaces, which no pod of ours needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

# Enough for the sidecars of several meshes and agents. More are a mistake, or an attack on a node.
MOST_CONTAINERS = 32
_LISTS = ("initContainers", "containers", "ephemeralContainers")
_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
_SYSCTLS = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
))  # fmt: skip
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_CONFINED = ("RuntimeDefault", "Localhost")


class Profile(StrEnum):
    """The profiles of the standard, the loosest first."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


@dataclass(frozen=True, slots=True)
class Flaw:
    """A field that a profile refuses, and what to write instead."""

    path: str
    remedy: str


Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template, and the path at which it is written."""

    at: str
    document: Fields

    @property
    def spec(self) -> Fields:
        return _map(self.document.get("spec"))

    @property
    def annotations(self) -> Fields:
        return _map(_map(self.document.get("metadata")).get("annotations"))

    @property
    def volumes(self) -> Iterator[tuple[str, Fields]]:
        """Each with its path."""
        yield from _named(self.spec, "volumes", f"{self.at}.spec")

    @property
    def containers(self) -> Iterator[tuple[str, Fields]]:
        """Each with its path, of every kind."""
        for name in _LISTS:
            yield from _named(self.spec, name, f"{self.at}.spec")

    @property
    def contexts(self) -> Iterator[tuple[str, Fields]]:
        """The security contexts: of the pod, then of each container."""
        yield f"{self.at}.spec.securityContext", _map(self.spec.get("securityContext"))
        yield from self.container_contexts

    @property
    def container_contexts(self) -> Iterator[tuple[str, Fields]]:
        for path, container in self.containers:
            yield f"{path}.securityContext", _map(container.get("securityContext"))


def flaws(document: Fields, at: str, profile: Profile) -> Iterator[Flaw]:
    """Every field of a pod template, written at this path, that the profile refuses."""
    template = Template(at, document)
    if profile is not Profile.PRIVILEGED:
        for control in BASELINE.values():
            yield from control(template)
    if profile is Profile.RESTRICTED:
        for control in RESTRICTED.values():
            yield from control(template)


# --- baseline


def _host_process(template: Template) -> Iterator[Flaw]:
    for path, context in template.contexts:
        if _map(context.get("windowsOptions")).get("hostProcess"):
            yield Flaw(f"{path}.windowsOptions.hostProcess", "leave it out")


def _host_namespaces(template: Template) -> Iterator[Flaw]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if template.spec.get(name):
            yield Flaw(f"{template.at}.spec.{name}", "leave it out: a pod has its own")


def _privileged(template: Template) -> Iterator[Flaw]:
    for path, context in template.container_contexts:
        if context.get("privileged"):
            yield Flaw(f"{path}.privileged", "leave it out")


def _capabilities(template: Template) -> Iterator[Flaw]:
    for path, context in template.container_contexts:
        added = _list(_map(context.get("capabilities")).get("add"))
        if others := sorted({str(each) for each in added} - _CAPABILITIES):
            yield Flaw(f"{path}.capabilities.add", f"take out {', '.join(others)}")


def _host_paths(template: Template) -> Iterator[Flaw]:
    for path, volume in template.volumes:
        if volume.get("hostPath") is not None:
            yield Flaw(
                f"{path}.hostPath", "use a volume of another kind, such as a persistentVolumeClaim"
            )


def _host_ports(template: Template) -> Iterator[Flaw]:
    for path, container in template.containers:
        for at, port in enumerate(_list(container.get("ports"))):
            if _map(port).get("hostPort"):
                yield Flaw(f"{path}.ports[{at}].hostPort", "leave it out, and make a Service")


def _hosts_of_probes(template: Template) -> Iterator[Flaw]:
    for path, container in template.containers:
        lifecycle = _map(container.get("lifecycle"))
        asked = {
            **{n: container.get(n) for n in ("livenessProbe", "readinessProbe", "startupProbe")},
            **{f"lifecycle.{name}": lifecycle.get(name) for name in ("postStart", "preStop")},
        }
        for name, way in ((name, way) for name in asked for way in ("httpGet", "tcpSocket")):
            if _map(_map(asked[name]).get(way)).get("host"):
                yield Flaw(f"{path}.{name}.{way}.host", "leave it out: the pod itself is asked")


def _apparmor(template: Template) -> Iterator[Flaw]:
    for path, context in template.contexts:
        yield from _unconfined(f"{path}.appArmorProfile", context.get("appArmorProfile"))
    for name, value in template.annotations.items():
        is_allowed = value in ("", "runtime/default") or str(value).startswith("localhost/")
        if name.startswith(_APPARMOR) and not is_allowed:
            path = f"{template.at}.metadata.annotations[{name}]"
            yield Flaw(path, "write runtime/default or leave it out")


def _selinux(template: Template) -> Iterator[Flaw]:
    for path, context in template.contexts:
        options = _map(context.get("seLinuxOptions"))
        if options.get("type") is not None and options["type"] not in _SELINUX_TYPES:
            remedy = f"write one of {', '.join(filter(None, _SELINUX_TYPES))}, or leave it out"
            yield Flaw(f"{path}.seLinuxOptions.type", remedy)
        for name in ("user", "role"):
            if options.get(name):
                yield Flaw(f"{path}.seLinuxOptions.{name}", "leave it out")


def _proc_mount(template: Template) -> Iterator[Flaw]:
    for path, context in template.container_contexts:
        if context.get("procMount") not in (None, "Default"):
            yield Flaw(f"{path}.procMount", "write Default or leave it out")


def _seccomp(template: Template) -> Iterator[Flaw]:
    for path, context in template.contexts:
        yield from _unconfined(f"{path}.seccompProfile", context.get("seccompProfile"))


def _sysctls(template: Template) -> Iterator[Flaw]:
    context = _map(template.spec.get("securityContext"))
    for each in map(_map, _list(context.get("sysctls"))):
        if each.get("name") not in _SYSCTLS:
            path = f"{template.at}.spec.securityContext.sysctls[{each.get('name')}]"
            yield Flaw(path, "leave it out: it is not among those that are safe")


def _count(template: Template) -> Iterator[Flaw]:
    for name in _LISTS:
        count = len(_list(template.spec.get(name)))
        if count > MOST_CONTAINERS:
            remedy = f"{count} are there: write at most {MOST_CONTAINERS}"
            yield Flaw(f"{template.at}.spec.{name}", remedy)


# --- restricted


def _volume_types(template: Template) -> Iterator[Flaw]:
    for path, volume in template.volumes:
        kinds = {name for name, value in volume.items() if name != "name" and value is not None}
        # A volume without a source is an emptyDir. Another control reports a hostPath.
        if kinds and not kinds & _VOLUMES and "hostPath" not in kinds:
            yield Flaw(path, f"use a volume of another kind: one of {', '.join(sorted(_VOLUMES))}")


def _escalation(template: Template) -> Iterator[Flaw]:
    for path, context in template.container_contexts:
        if context.get("allowPrivilegeEscalation") is not False:
            yield Flaw(f"{path}.allowPrivilegeEscalation", "write false")


def _non_root(template: Template) -> Iterator[Flaw]:
    (at, pod), *containers = template.contexts
    of_pod = pod.get("runAsNonRoot")
    if of_pod is False:
        yield Flaw(f"{at}.runAsNonRoot", "write true")
    for path, context in containers:
        own = context.get("runAsNonRoot")
        if own is False or (own is None and of_pod is None):
            yield Flaw(f"{path}.runAsNonRoot", f"write true, here or in {at}")


def _user(template: Template) -> Iterator[Flaw]:
    for path, context in template.contexts:
        user = context.get("runAsUser")
        if user == 0 and user is not False:
            yield Flaw(f"{path}.runAsUser", "write a number other than 0")


def _has_seccomp(template: Template) -> Iterator[Flaw]:
    (at, pod), *containers = template.contexts
    if pod.get("seccompProfile") is not None:
        return  # the control of `baseline` reports one that does not confine
    for path, context in containers:
        if context.get("seccompProfile") is None:
            remedy = f"write {{type: RuntimeDefault}}, here or in {at}"
            yield Flaw(f"{path}.seccompProfile", remedy)


def _drops_all(template: Template) -> Iterator[Flaw]:
    for path, context in template.container_contexts:
        capabilities = _map(context.get("capabilities"))
        if "ALL" not in _list(capabilities.get("drop")):
            yield Flaw(f"{path}.capabilities.drop", "write [ALL]")
        added = {str(each) for each in _list(capabilities.get("add"))}
        # The control of `baseline` reports the others.
        if others := sorted(added & _CAPABILITIES - {"NET_BIND_SERVICE"}):
            yield Flaw(f"{path}.capabilities.add", f"take out {', '.join(others)}")


# --- reading


def _unconfined(path: str, profile: Any) -> Iterator[Flaw]:
    if profile is not None and _map(profile).get("type") not in _CONFINED:
        yield Flaw(f"{path}.type", f"write {' or '.join(_CONFINED)}")


def _named(spec: Fields, name: str, at: str) -> Iterator[tuple[str, Fields]]:
    for number, each in enumerate(_list(spec.get(name))):
        fields = _map(each)
        yield f"{at}.{name}[{fields.get('name', number)}]", fields


def _map(value: Any) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


Control = Callable[[Template], Iterator[Flaw]]

# By the name that the standard has for it, and the bound of our own.
BASELINE: Mapping[str, Control] = MappingProxyType(
    {
        "HostProcess": _host_process,
        "Host Namespaces": _host_namespaces,
        "Privileged Containers": _privileged,
        "Capabilities": _capabilities,
        "HostPath Volumes": _host_paths,
        "Host Ports": _host_ports,
        "Host Probes / Lifecycle Hooks": _hosts_of_probes,
        "AppArmor": _apparmor,
        "SELinux": _selinux,
        "/proc Mount Type": _proc_mount,
        "Seccomp": _seccomp,
        "Sysctls": _sysctls,
        "Number of Containers": _count,
    }
)
RESTRICTED: Mapping[str, Control] = MappingProxyType(
    {
        "Volume Types": _volume_types,
        "Privilege Escalation": _escalation,
        "Running as Non-root": _non_root,
        "Running as Non-root user": _user,
        "Seccomp": _has_seccomp,
        "Capabilities": _drops_all,
    }
)
