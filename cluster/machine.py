"""What this machine is and has, asked before anything is fetched for nothing.

Rules: whatever is missing is said in one message, with what to do about it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from steps import Size, StopError, remedy_for, run, step

CAP_SYS_RESOURCE = 24
OLDEST_GO = (1, 24)
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_APT = ("apt-get", "-q", "-o", "DPkg::Lock::Timeout=300")


def is_root() -> bool:
    return os.geteuid() == 0


def has_capability(status: str, number: int) -> bool:
    """Whether a process whose /proc/PID/status this is may ever have the capability."""
    bounding = re.search(r"^CapBnd:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return bounding is not None and bool(int(bounding[1], 16) >> number & 1)


def may_raise_limits() -> bool:
    """Whether root is whole here: some virtual machines leave it without CAP_SYS_RESOURCE."""
    return has_capability(Path("/proc/self/status").read_text(), CAP_SYS_RESOURCE)


def go_version(said: str) -> tuple[int, int] | None:
    """The version in what `go version` says."""
    found = re.search(r"\bgo(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else None


def require_go() -> str:
    """The path of a Go that is new enough to compile Kubernetes."""
    program = shutil.which("go")
    oldest = ".".join(map(str, OLDEST_GO))
    told = f"Install Go {oldest} or newer, put it on the PATH, then run the same command again."
    why = (
        "No image registry can be reached from here, so Kubernetes is compiled (once, about 8 "
        "minutes on two cores), and that wants Go"
    )
    if program is None:
        raise StopError(f"{why}; there is none on the PATH. {told}")
    said = subprocess.run([program, "version"], capture_output=True, text=True, check=False).stdout
    version = go_version(said)
    if version is None or version < OLDEST_GO:
        raise StopError(f"{why}; {program} says '{said.strip()}', which is too old. {told}")
    return program


def answer(
    command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str] | None = None
) -> str:
    """What a program prints; stop with what it complained of if it fails."""
    ran = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if ran.returncode:
        name = Path(command[0]).name
        raise StopError(f"`{name}` failed: {ran.stderr.strip()}\n{remedy_for(ran.stderr)}")
    return ran.stdout


def require_packages(packages: dict[str, str], size: Size, why: str, logs: Path) -> None:
    """Debian's packages, each named by a program that it brings, are installed."""
    missing = [package for program, package in packages.items() if shutil.which(program) is None]
    if not missing:
        return
    names = " ".join(missing)
    if not is_root() or shutil.which("apt-get") is None:
        raise StopError(
            f"{why} wants Debian's {names}, and installing wants root. Run this, then the same "
            f"command again:\nsudo apt-get install --no-install-recommends {names}"
        )
    with step(f"{names} from Debian", size, []):
        run([*_APT, "update"], logs / "apt-update.log", cwd=Path("/"), env=_QUIET)
        run(
            [*_APT, "install", "--yes", "--no-install-recommends", *missing],
            logs / "apt-install.log",
            cwd=Path("/"),
            env=_QUIET,
        )


def wait(condition: Callable[[], bool], seconds: float) -> None:
    """Look until it holds or the time is over; who waits looks at the end whether it held."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
