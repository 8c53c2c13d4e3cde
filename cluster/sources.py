"""Where this machine gets packages from, told to the builds of images and to nothing else.

Rules: the addresses come from the settings of apt and pip of this machine. They go into a build as
secrets: files that are there while a step runs, in a folder that is deleted afterwards. So they
are in no committed file and in no layer of an image.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from steps import StopError

CODENAME = "bookworm"  # of Debian 12: the newest that boots on cgroup v1, and it has Python 3.11
SUITES = ("", "-updates", "-security")
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")
CERTIFICATES = "/run/secrets/ca"
APT_SETTING = re.compile(r"^Acquire::(https?::|Check-Valid-Until\b|Retries\b|ForceIPv).*;$")


def apt_sources(targets: str, codename: str) -> str:
    """A sources.list of Debian 12, from `site release component` lines of a machine's apt.

    A machine with another release of Debian has the same mirrors; other people's packages stay out.
    """
    lines = set()
    for line in targets.splitlines():
        site, release, component = line.split()
        suite = release.removeprefix(codename)
        if component == "main" and release.startswith(codename) and suite in SUITES:
            lines.add(f"deb {site} {CODENAME}{suite} main\n")
    return "".join(sorted(lines))


def mirror(sources: str) -> str:
    """The place of Debian itself, among such sources."""
    for line in sources.splitlines():
        _, site, suite, _ = line.split()
        if suite == CODENAME:
            return site
    raise StopError(
        "The apt of this machine names no mirror of Debian, from which the base image is made "
        "where none can be pulled. Name one in /etc/apt/sources.list and run `apt-get update`, or "
        "let Docker reach a registry."
    )


def apt_settings(dumped: str) -> str:
    """What `apt-config dump` says of how to reach a mirror: proxies and the like."""
    return "".join(f"{line}\n" for line in dumped.splitlines() if APT_SETTING.match(line))


def pip_settings(listed: str, has_certificates: bool) -> str:
    """A pip.conf of what `pip config list` says of where packages are."""
    lines = ["[global]", f"cert = {CERTIFICATES}"] if has_certificates else ["[global]"]
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        name = name.rpartition(".")[2]
        if name in PIP_SETTINGS:
            lines.append(f"{name} = {ast.literal_eval(value)}")
    return "\n".join(lines) + "\n"


def certificates(listed: str) -> Path | None:
    """The certificates that pip of this machine is told to trust, where it is told."""
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        if name.endswith(".cert"):
            return Path(ast.literal_eval(value))
    named = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE")
    return Path(named) if named else None


def sources_of_machine() -> str:
    """The sources.list of Debian 12 by the mirrors of this machine; empty where apt is not used."""
    if shutil.which("apt-get") is None:
        return ""
    targets = _said(
        "apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
        "Identifier: Packages",
    )  # fmt: skip
    release = Path("/etc/os-release").read_text(encoding="utf-8")
    codename = re.search(r"^VERSION_CODENAME=(\w+)$", release, re.MULTILINE)
    return apt_sources(targets, codename[1] if codename else CODENAME)


@contextlib.contextmanager
def build_secrets(with_apt: bool) -> Iterator[list[str]]:
    """The arguments of `docker build` that tell it where packages come from."""
    listed = _said(sys.executable, "-m", "pip", "config", "list")
    trusted = certificates(listed)
    files = {"pip": pip_settings(listed, trusted is not None)}
    if trusted is not None:
        files["ca"] = trusted.read_text(encoding="utf-8")
    if with_apt:
        files["apt-sources"] = sources_of_machine()
        files["apt-settings"] = apt_settings(_said("apt-config", "dump"))
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        arguments = []
        for name, text in files.items():
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8")
            arguments += ["--secret", f"id={name},src={path}"]
        yield arguments


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
