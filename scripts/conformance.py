"""`make conformance`: `tidegate conformance` on a cluster of kind, or on that of KUBECONFIG, with
an operator of its own.

    CONFORMANCE='--engine mixed --seed 7' make conformance

Rules: standard library only. Operator and group are in the namespace `tidegate-conformance`, which
is removed at the end; the cluster stays. Reports are in build/conformance.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMESPACE, RELEASE = "tidegate-conformance", "tidegate"
_CACHE = Path(os.environ.get("TIDEGATE_CACHE") or Path("~/.cache/tidegate").expanduser())


def environment() -> dict[str, str]:
    name = os.environ.get("CLUSTER") or "tidegate"
    config = os.environ.get("KUBECONFIG") or str(_CACHE / "clusters" / f"{name}.kubeconfig")
    path = f"{_CACHE / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "KUBECONFIG": config}


def run(program: str, *arguments: str, stdin: str = "") -> str:
    """What it says. Raises SystemExit with its own words."""
    found = shutil.which(program, path=environment()["PATH"])
    if found is None:
        raise SystemExit(f"{program} is not on the PATH: `make cluster` brings it")
    told = subprocess.run(
        [found, *arguments], input=stdin, env=environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if told.returncode:
        raise SystemExit(f"{program} {' '.join(arguments[:4])}: {told.stderr.strip()[-600:]}")
    return told.stdout


def install() -> None:
    """The kind, and an operator that looks after the namespace alone."""
    chart = ROOT / "charts" / "tidegate"
    # As docs/helm.md says: Helm leaves the kind alone where an older one is there.
    run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(chart / "crds"))
    values = {"watch": {"namespaces": [NAMESPACE]}}
    run(
        "helm", "upgrade", RELEASE, str(chart), "--install", "--skip-crds", "--create-namespace",
        "--namespace", NAMESPACE, "--wait", "--timeout", "3m", "--values", "-",
        stdin=json.dumps(values),
    )  # fmt: skip


def remove() -> None:
    run("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found")
    run("kubectl", "delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=90s")


def make_cluster(words: list[str]) -> None:
    if os.environ.get("KUBECONFIG"):
        return
    command = [sys.executable, str(ROOT / "cluster" / "manage.py"), "up"]
    command += ["--name", os.environ.get("CLUSTER") or "tidegate"]
    command += ["--spark"] if {"spark", "mixed"} & set(words) else []
    if subprocess.run(command, check=False).returncode:
        raise SystemExit("the cluster cannot be made: see above")


def main() -> int:
    words = shlex.split(os.environ.get("CONFORMANCE", ""))
    make_cluster(words)
    command = [
        str(Path(sys.executable).with_name("tidegate")), "conformance",
        "--namespace", NAMESPACE, "--operator", f"{NAMESPACE}/{RELEASE}-operator",
        "--report", str(ROOT / "build" / "conformance"), *words,
    ]  # fmt: skip
    try:
        install()
        process = subprocess.Popen(command, env=environment())
        try:
            return process.wait()
        except KeyboardInterrupt:
            # It has had the signal, too, and removes what it made.
            return process.wait()
    finally:
        remove()


if __name__ == "__main__":
    sys.exit(main())
