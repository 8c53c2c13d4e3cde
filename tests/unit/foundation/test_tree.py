"""The tree as a whole: versions, licence, lock files, nothing that is true on one machine."""

from __future__ import annotations

import json
import re
from importlib import metadata

import pytest

import tidegate
from support.tree import ROOT, files_of, named

TEXT = (
    ".cfg", ".in", ".ini", ".java", ".js", ".json", ".lock", ".md", ".mjs", ".py", ".sh", ".toml",
    ".txt", ".xml", ".yaml", ".yml", "Makefile", "NOTICE", "run",
)  # fmt: skip
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|work|tmp|home)/[\w.-]+")
ADDRESS = re.compile(r"[a-z+]+://\S+|--(?:extra-)?index-url|--find-links")
# Taken apart here, so that this file does not hold what it forbids.
REGISTRIES = [
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("repo", "maven", "apache", "org"),
        ("deb", "debian", "org"),
        ("crates", "io"),
    )
]

# (file, path): why a path of one machine is right there.
ALLOWED_PATHS: dict[tuple[str, str], str] = {}


def npm_locks() -> list[dict[str, dict[str, dict[str, object]]]]:
    """Every package-lock.json of the tree."""
    return [json.loads(path.read_text("utf-8")) for path in files_of("package-lock.json")]


def test_the_change_log_begins_with_the_version_of_the_package() -> None:
    change_log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?(\d+\.\d+\.\d+)", change_log, re.MULTILINE)
    assert versions[0] == tidegate.__version__


def test_the_installed_package_has_the_version_of_the_code() -> None:
    assert metadata.version("tidegate") == tidegate.__version__


def test_the_licence_is_apache_2_with_our_name_and_no_address() -> None:
    assert "Apache License\n                           Version 2.0, January 2004" in (
        ROOT / "LICENSE"
    ).read_text(encoding="utf-8")
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "Tidegate authors" in notice
    assert "@" not in notice


def test_python_lock_files_name_no_address() -> None:
    for path in files_of(".lock", below=("requirements",)):
        found = ADDRESS.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{named(path)} says {found and found[0]}: write it with `make lock`"


def test_every_locked_python_package_is_pinned_and_hashed() -> None:
    for path in files_of(".lock", below=("requirements",)):
        text = re.sub(r"\\\n\s*", "", path.read_text(encoding="utf-8"))
        pins = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
        assert pins
        for pin in pins:
            assert re.match(r"\S+==\S+", pin), f"{named(path)}: '{pin[:60]}' is no exact pin"
            assert "--hash=sha256:" in pin, f"{named(path)}: '{pin[:60]}' has no hash"


def test_npm_lock_files_name_hashes_and_no_address() -> None:
    assert npm_locks()
    for lock in npm_locks():
        for name, package in lock["packages"].items():
            if not name:
                continue
            assert "resolved" not in package, f"{name}: write the lock with `make lock`"
            assert package.get("integrity"), f"{name} has no hash: write the lock with `make lock`"


def test_every_npm_package_of_ours_says_what_it_weighs() -> None:
    for path in files_of("package.json"):
        config = json.loads(path.read_text(encoding="utf-8")).get("config", {})
        assert config.keys() >= {"fetch_mb", "disk_mb"}, (
            f'{named(path)}: add "config": {{"fetch_mb": ..., "disk_mb": ...}}, so that set-up can '
            "say what it fetches"
        )


def test_layers_that_share_an_environment_agree_on_every_pin() -> None:
    pins: dict[str, dict[str, str]] = {}
    for path in files_of(".lock", below=("requirements",)):
        for name, version in re.findall(r"^(\S+)==(\S+)", path.read_text("utf-8"), re.MULTILINE):
            pins.setdefault(name, {})[path.stem] = version
    differing = {name: by for name, by in pins.items() if len(set(by.values())) > 1}
    assert not differing, f"{differing}: write the locks again with `make lock`"


def test_no_text_names_a_package_registry() -> None:
    naming = [
        f"{named(path)} names {host}"
        for path in files_of(*TEXT)
        for host in REGISTRIES
        if host in path.read_text(encoding="utf-8")
    ]
    assert not naming, f"{naming}: say which package, not where it comes from"


def test_no_text_holds_a_path_of_one_machine() -> None:
    found = [
        f"{named(path)}: {match}"
        for path in files_of(*TEXT)
        for match in MACHINE_PATH.findall(path.read_text(encoding="utf-8"))
        if (named(path), match) not in ALLOWED_PATHS
    ]
    assert not found, f"{found}: use a path relative to the tree, or a test's tmp_path"


@pytest.mark.parametrize("path", ["tmp/x", "root/.cache", "work/shared", "home/me"])
def test_a_path_of_one_machine_is_found(path: str) -> None:
    assert MACHINE_PATH.search(f"cd /{path}")
    assert MACHINE_PATH.search(f"'/{path}'")


@pytest.mark.parametrize("text", ["examples/home/x.py", "https://example.org/tmp/x", "/homes/1"])
def test_a_path_that_is_right_everywhere_is_left_alone(text: str) -> None:
    assert not MACHINE_PATH.search(text)
