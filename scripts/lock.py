"""Writes the lock files: `make lock` keeps the pins that still fit, `UPGRADE=1` takes the newest.

Rules: a lock file names versions and hashes and never an address, so it works with any index or
mirror. It says what it weighs, measured here, so that set-up can say so before it fetches.
Standard library only; the resolver is uv, itself pinned in `requirements/uv.lock`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node_env import NPM_OPTIONS, ensure_node
from python_env import FROM_SOURCE, LAYERS_FROM_SOURCE, SIZE_LINE, ensure_layers, lock_file
from steps import Size, exit_code_of, folder_mb, run, say

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
LOGS = ROOT / ".tools" / "logs"
PIN = re.compile(r"^\S+==", re.MULTILINE)
HEADER = "# Written by `make lock` from {source}. Versions and hashes only: any index will do.\n"


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file: what it is resolved from."""

    layer: str
    source: str
    extras: tuple[str, ...] = ()


# dev comes first: the others are held to its pins, so that they can share an environment.
LOCKS = (
    Lock("dev", "pyproject.toml", extras=("dev", "operator")),
    Lock("core", "pyproject.toml"),
    # What builds wheels from sources, here and for the images.
    Lock("build", "requirements/build.in"),
    # What the image holds: the consumer and the operator.
    Lock("operator", "pyproject.toml", extras=("operator",)),
    Lock("fuzz", "pyproject.toml", extras=("fuzz",)),
    Lock("spark", "pyproject.toml", extras=("spark",)),
    Lock("docs", "requirements/docs.in"),
    Lock("node", "requirements/node.in"),
    Lock("audit", "requirements/audit.in"),
    Lock("uv", "requirements/uv.in"),
)


def resolve(uv: Path, lock: Lock, upgrade: bool) -> str:
    """The pins of a lock, as uv writes them, without addresses."""
    path = REQUIREMENTS / f"{lock.layer}.lock"
    with tempfile.TemporaryDirectory() as scratch:
        draft = Path(scratch) / path.name
        if path.exists() and not upgrade:
            shutil.copy(path, draft)
        command: list[str | Path] = [
            uv, "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes",
            "--no-header", "--no-emit-index-url", "--no-emit-find-links", "--quiet",
            "--output-file", draft, lock.source,
        ]  # fmt: skip
        for extra in lock.extras:
            command += ["--extra", extra]
        if lock.layer not in ("dev", "uv"):
            command += ["--constraint", REQUIREMENTS / "dev.lock"]
        run(command, LOGS / f"lock-{lock.layer}.log", cwd=ROOT)
        return draft.read_text(encoding="utf-8")


def without_old_header(text: str) -> str:
    """The text from its first pin on."""
    first_pin = PIN.search(text)
    return text[first_pin.start() :] if first_pin else ""


def measure(pins: str, layer: str) -> Size:
    """What the pins weigh on this machine: fetched, and installed."""
    python = ROOT / ".venv" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    with tempfile.TemporaryDirectory() as scratch:
        fetched, installed = Path(scratch) / "fetched", Path(scratch) / "installed"
        listed = Path(scratch) / "pins.txt"
        listed.write_text(pins, encoding="utf-8")
        common: list[str | Path] = ["--no-deps", "--requirement", listed]
        builders = Path(scratch) / "builders"
        if layer in LAYERS_FROM_SOURCE:
            run(
                [*pip, "install", "--target", builders, "--no-deps", "--only-binary=:all:",
                 "--require-hashes", "--requirement", REQUIREMENTS / "build.lock"],
                LOGS / "weigh.log",
                cwd=ROOT,
            )  # fmt: skip
            common += FROM_SOURCE
        else:
            common.append("--only-binary=:all:")
        for command in (
            [*pip, "download", "--dest", fetched, *common],
            [*pip, "install", "--target", installed, "--find-links", fetched, *common],
        ):
            run(command, LOGS / "weigh.log", cwd=ROOT, env={"PYTHONPATH": str(builders)})
        return Size(fetch_mb=round(folder_mb(fetched)), disk_mb=round(folder_mb(installed)))


def write_python_lock(uv: Path, lock: Lock, upgrade: bool) -> None:
    """Write one file of `requirements/`, with its size, measured only where its pins changed."""
    path = REQUIREMENTS / f"{lock.layer}.lock"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    pins = without_old_header(resolve(uv, lock, upgrade))
    if SIZE_LINE.search(before) and without_old_header(before) == pins:
        say(f"   {path.name}: unchanged")
        return
    size = measure(pins, lock.layer)
    header = HEADER.format(source=lock.source) + f"# size: {size}\n"
    path.write_text(header + pins, encoding="utf-8")
    say(f"   {path.name}: {len(PIN.findall(pins))} packages, {size}")


def without_addresses(lock: dict[str, object]) -> dict[str, object]:
    """A package-lock without download addresses and appeals for funds; the hashes stay."""
    packages = lock["packages"]
    assert isinstance(packages, dict)
    for package in packages.values():
        for key in ("resolved", "funding"):
            package.pop(key, None)
    return lock


def write_npm_lock(folder: Path, npm: Sequence[str], upgrade: bool) -> None:
    """Write the package-lock.json of a folder that has a package.json."""
    path = folder / "package-lock.json"
    if upgrade:
        path.unlink(missing_ok=True)
    name = folder.relative_to(ROOT)
    command = [*npm, "install", "--package-lock-only", *NPM_OPTIONS]
    say(f"-> resolving {name}/package-lock.json")
    run(command, LOGS / "lock-npm.log", cwd=folder)
    lock = without_addresses(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def uv_program() -> Path:
    """The pinned uv, from an environment layer of its own."""
    lock_file(ROOT, "uv")
    ensure_layers(ROOT, ["uv"])
    return ROOT / ".venv" / "bin" / "uv"


def main() -> None:
    """Write every lock file of the tree."""
    upgrade = os.environ.get("UPGRADE") == "1"
    uv = uv_program()
    for lock in LOCKS:
        say(f"-> resolving {lock.layer}.lock from {lock.source}")
        write_python_lock(uv, lock, upgrade)
    npm = ensure_node(ROOT).npm
    for manifest in sorted(ROOT.glob("tests/**/package.json")):
        if "node_modules" not in manifest.parts:
            write_npm_lock(manifest.parent, npm, upgrade)
    say("Sizes of what npm installs are in package.json (config.fetch_mb, config.disk_mb).")
    say("See what changed with `git diff --stat`, then run `make test`.")


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
