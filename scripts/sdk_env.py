"""Go and Rust: the programs by which the hub's contract is played with their official SDKs.

Rules: standard library only. The toolchains are the machine's own; if one is missing or too old,
the message names where to get it and nothing is done. go.sum and Cargo.lock pin what is fetched.
Go's modules and build are kept below `.tools/go`, Rust's build below `.tools/rust`; crates stay in
cargo's own cache. Cargo.lock names versions and hashes and no address, as all locks of this tree:
cargo builds a copy of the program whose lock has them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steps import Size, StopError, is_complete, require_space, run, step, write_stamp

Command = list[str | Path]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What compiles a program, and how."""

    language: str
    program: str
    oldest: tuple[int, int]
    says_version: tuple[str, ...]
    installed_as: str
    sources: tuple[str, ...]
    size: Size
    # The commands, for a source and a target, once the source is ready.
    commands: Callable[[Path, Path], list[Command]]
    environment: Callable[[Path], Mapping[str, str]]


def _build_go(_source: Path, target: Path) -> list[Command]:
    flags = ["-modcacherw", "-buildvcs=false"]
    return [
        ["go", "vet", *flags, "./..."],
        ["go", "build", *flags, "-trimpath", "-o", target / "contract", "."],
    ]


def _go_environment(target: Path) -> dict[str, str]:
    return {
        "GOCACHE": str(target / "cache"),
        "GOMODCACHE": str(target / "modules"),
        "GOFLAGS": "-mod=readonly",
        # A machine whose Go is too old is told so, and fetches no other.
        "GOTOOLCHAIN": "local",
    }


# Cargo's name of the public registry, in two parts, because no text of this tree names one.
_REGISTRY = "registry+https://github.com/rust-lang/crates" + ".io-index"
_OF_A_REGISTRY = re.compile(r'^(version = "[^"]+"\n)(?=checksum = )', re.MULTILINE)


def _build_rust(source: Path, target: Path) -> list[Command]:
    copy = target / "source"
    shutil.rmtree(copy, ignore_errors=True)
    left_out = shutil.ignore_patterns("*.py", "__pycache__")
    # With times of now: cargo compiles what is newer than its last build.
    shutil.copytree(source, copy, ignore=left_out, copy_function=shutil.copy)
    lock = (source / "Cargo.lock").read_text(encoding="utf-8")
    named = _OF_A_REGISTRY.sub(rf'\1source = "{_REGISTRY}"\n', lock)
    (copy / "Cargo.lock").write_text(named, encoding="utf-8")
    return [
        ["cargo", "build", "--locked", "--manifest-path", copy / "Cargo.toml",
         "--target-dir", target],
    ]  # fmt: skip


GO = Toolchain(
    "Go", "go", (1, 25), ("go", "version"), "https://go.dev/doc/install",
    ("go.mod", "go.sum", "*.go"), Size(20, 400), _build_go, _go_environment,
)  # fmt: skip
RUST = Toolchain(
    "Rust", "cargo", (1, 88), ("cargo", "--version"), "https://rustup.rs",
    ("Cargo.toml", "Cargo.lock", "src/*.rs"), Size(40, 900), _build_rust, lambda _target: {},
)  # fmt: skip


def require_toolchain(chain: Toolchain) -> None:
    """Stop with where to get the toolchain, if it is missing or too old."""
    found = _version_of(chain)
    if found is not None and found >= chain.oldest:
        return
    wanted = ".".join(map(str, chain.oldest))
    there = "there is none" if found is None else f"this is {'.'.join(map(str, found))}"
    raise StopError(
        f"This target wants {chain.language} {wanted} or newer ({chain.program}), and {there}. "
        f"Install it as {chain.installed_as} says, then run the same command again."
    )


def _version_of(chain: Toolchain) -> tuple[int, int] | None:
    if shutil.which(chain.program) is None:
        return None
    told = subprocess.run(chain.says_version, capture_output=True, text=True, check=False)
    version = re.search(r"\b(?:go)?(\d+)\.(\d+)", told.stdout)
    return (int(version[1]), int(version[2])) if version else None


def build_program(chain: Toolchain, root: Path, source: Path, name: str) -> None:
    """Build the program of `source` into `.tools/NAME`, unless that is done already."""
    target = root / ".tools" / name
    stamp = target / "complete"
    key = _key_of(chain, source)
    if is_complete(stamp, key):
        return
    stamp.unlink(missing_ok=True)
    target.mkdir(parents=True, exist_ok=True)
    require_space(target, chain.size)
    log = root / ".tools" / "logs" / f"{name}.log"
    what = f"the {chain.language} SDK, and the program that runs it"
    with step(what, chain.size, [target]):
        for command in chain.commands(source, target):
            run(command, log, cwd=source, env=chain.environment(target))
    write_stamp(stamp, key)


def _key_of(chain: Toolchain, source: Path) -> str:
    """All that the build depends on."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in chain.sources for path in source.glob(pattern)):
        digest.update(f"{path.relative_to(source)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
