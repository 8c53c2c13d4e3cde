"""Docker's engine: the machine's own where it answers, else one that is started for the clusters.

Rules: an engine of ours touches nothing outside its two folders. It makes no bridge of its own and
no firewall rule, and leaves forwarding as it is: nodes talk over the bridge of their own network,
builds use the machine's network, and ports are published by a process of Docker's. When it has
been stopped, nothing of it is left but its images, for the next time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import machine
from steps import Size, StopError, run, say, step
from store import HERE, Store, digest

START_SECONDS = 60.0
STOP_SECONDS = 60.0
NO_DOCKER = (
    "No Docker engine answers (`docker info`), and starting one wants root. Start Docker, or name "
    "one that runs with DOCKER_HOST, or run the same command as root on Debian."
)


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that answers, and what its clients want in their environment."""

    environment: Mapping[str, str]
    is_ours: bool
    logs: Path

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its client; whether that went well is for the caller to see."""
        return subprocess.run(
            ["docker", *arguments], env={**os.environ, **self.environment}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    def do(self, log: str, *arguments: str | Path) -> None:
        """Run its client with the output in a log; stop with the remedy if it fails."""
        run(["docker", *arguments], self.logs / log, cwd=HERE, env=self.environment)

    def has_image(self, name: str) -> bool:
        return self.ask("image", "inspect", name).returncode == 0

    def listed(self, *arguments: str) -> list[str]:
        """The lines of an answer; none where the client failed."""
        return self.ask(*arguments).stdout.split()


def runtime_folder(store: Store) -> Path:
    """Where our engine for this store has its socket, its pid and what runs."""
    return Path("/run") / f"tidegate-{digest(str(store.root))}"


def ensure_engine(store: Store) -> Engine:
    """An engine that answers; started where there is none and one may."""
    found = find_engine(store)
    if found is not None:
        return found
    if not machine.is_root():
        raise StopError(NO_DOCKER)
    machine.require_packages(
        {"dockerd": "docker.io"}, Size(70, 290), "Docker's engine, of which none runs,", store.logs
    )
    return _start(store)


def find_engine(store: Store) -> Engine | None:
    """Ours if it runs, else the machine's, else None."""
    ours = _ours(store)
    if _answers(ours):
        return ours
    if shutil.which("docker") is not None:
        theirs = Engine({"DOCKER_BUILDKIT": "1"}, is_ours=False, logs=store.logs)
        if _answers(theirs):
            return theirs
    return None


def _ours(store: Store) -> Engine:
    environment = {
        "DOCKER_HOST": f"unix://{runtime_folder(store)}/docker.sock",
        "DOCKER_BUILDKIT": "1",
        # Debian's client builds without a plug-in; another one that comes first may not.
        "PATH": f"/usr/bin:{os.environ.get('PATH', '')}",
    }
    return Engine(environment, is_ours=True, logs=store.logs)


def _answers(engine: Engine) -> bool:
    if engine.is_ours and not Path(engine.environment["DOCKER_HOST"][len("unix://") :]).exists():
        return False
    return engine.ask("info").returncode == 0


def _start(store: Store) -> Engine:
    folder = runtime_folder(store)
    folder.mkdir(mode=0o700, exist_ok=True)
    log = store.logs / "dockerd.log"
    log.parent.mkdir(exist_ok=True)
    environment = dict(os.environ)
    if not machine.may_raise_limits():
        # A runc that comes first on the path of the engine takes out what root may not do here.
        programs = folder / "bin"
        programs.mkdir(exist_ok=True)
        shutil.copy(HERE / "node" / "runc", programs / "runc")
        environment["PATH"] = f"{programs}:{environment.get('PATH', '')}"
    command = [
        "dockerd", "--host", f"unix://{folder}/docker.sock", "--pidfile", f"{folder}/docker.pid",
        "--data-root", str(store.root / "docker"), "--exec-root", str(folder / "exec"),
        "--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
        "--ip-masq=false", "--exec-opt", "native.cgroupdriver=cgroupfs",
        "--cgroup-parent", f"/{folder.name}", "--oom-score-adjust", "0",
    ]  # fmt: skip
    engine = _ours(store)
    with step("Docker's engine", Size(0, 0), []), log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, cwd="/",
        )  # fmt: skip
        machine.wait(lambda: process.poll() is not None or _answers(engine), START_SECONDS)
        if not _answers(engine):
            process.terminate()
            last = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise StopError(
                f"Docker's engine did not start. Its last lines; all of it is in {log}:\n{last}\n"
                "Start a Docker engine of your own, then run the same command again."
            )
    return engine


def stop_engine(store: Store) -> list[str]:
    """Stop our engine, if it runs, and clear up after it. Says what is left all the same."""
    folder = runtime_folder(store)
    pid_file = folder / "docker.pid"
    if pid_file.exists():
        pid = int(pid_file.read_text())
        if _is_dockerd(pid):
            say("-> stopping Docker's engine")
            os.kill(pid, signal.SIGTERM)
            machine.wait(lambda: not _is_dockerd(pid), STOP_SECONDS)
    for mounted in reversed(mounts_below(folder, store.root / "docker")):
        subprocess.run(["umount", mounted], check=False)
    _remove_cgroups(folder.name)
    left = leftovers(store)
    if not left:
        shutil.rmtree(folder, ignore_errors=True)
    return left


def leftovers(store: Store) -> list[str]:
    """What of our engine is on this machine while it does not run."""
    folder = runtime_folder(store)
    found = [f"mount {path}" for path in mounts_below(folder, store.root / "docker")]
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # a process may end while it is looked at
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if str(folder) in command and process.name != str(os.getpid()):
                found.append(f"process {process.name}: {command[:100]}")
    return found + [f"control group {path}" for path in _cgroups(folder.name)]


def mounts_below(*folders: Path) -> list[str]:
    """The places below these folders at which something is mounted."""
    mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    return [path for path in mounted if any(path.startswith(f"{folder}/") for folder in folders)]


def _is_dockerd(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name == "dockerd"
    except OSError:  # it has ended
        return False


def _cgroups(name: str) -> list[Path]:
    """The control groups of that name and all below them, the innermost first."""
    tops = [*Path("/sys/fs/cgroup").glob(name), *Path("/sys/fs/cgroup").glob(f"*/{name}")]
    found = [path for top in tops for path in (top, *top.rglob("*")) if path.is_dir()]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def _remove_cgroups(name: str) -> None:
    for path in _cgroups(name):
        with contextlib.suppress(OSError):  # one that is in use is told as left over
            path.rmdir()
