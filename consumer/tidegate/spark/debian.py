"""A package of Debian, fetched and unpacked into a folder without root.

Rules: where packages come from and who is trusted is what the apt of this machine says; its lists
are fetched into the draft, so that neither root nor a recent `apt-get update` is wanted. One
package is fetched, and none of those that it depends on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

TOOLS = ("apt-get", "apt-cache", "dpkg-deb")
LINES_SHOWN = 6


class NotFetchedError(Exception):
    """It could not be had; the message says what failed, with the last lines of what was said."""


def missing_tools() -> list[str]:
    """What of Debian's own tools is not here."""
    return [name for name in TOOLS if shutil.which(name) is None]


def fetched(wanted: Sequence[str], draft: Path) -> tuple[str, Path]:
    """The first of these packages that apt knows, and the folder below `draft` that it is
    unpacked in. Raises NotFetchedError."""
    name = _download(wanted, draft)
    unpacked = draft / "unpacked"
    _do(["dpkg-deb", "-x", next(draft.glob("*.deb")), unpacked], draft)
    return name, unpacked


def _download(wanted: Sequence[str], draft: Path) -> str:
    state, cache = draft / "state", draft / "cache"
    (state / "lists" / "partial").mkdir(parents=True)
    (cache / "archives" / "partial").mkdir(parents=True)
    (state / "status").touch()
    options = [
        "-q", "-o", f"Dir::State={state}", "-o", f"Dir::State::status={state / 'status'}",
        "-o", f"Dir::Cache={cache}", "-o", "APT::Sandbox::User=root",
    ]  # fmt: skip
    # Its exit code also tells of hooks of the machine, which may want root: see what it brought.
    updated = _ran(["apt-get", *options, "update"], draft)
    known = _ran(["apt-cache", *options, "pkgnames"], draft).stdout.split()
    name = next((name for name in wanted if name in known), None)
    if name is None:
        raise NotFetchedError(
            f"The apt of this machine has none of {', '.join(wanted)}; `apt-get update` said at "
            f"its end:\n{_last_lines(updated)}\nSee /etc/apt/sources.list"
        )
    _do(["apt-get", *options, "download", name], draft)
    return name


def _ran(command: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True,
        errors="replace", check=False, stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip


def _do(command: Sequence[str | Path], folder: Path) -> None:
    ran = _ran(command, folder)
    if ran.returncode:
        raise NotFetchedError(
            f"Fetching Debian's package failed: `{command[0]}` ended with exit {ran.returncode}:\n"
            f"{_last_lines(ran)}\nSee the settings of apt (`apt-config dump`) and the free space, "
            "and try again"
        )


def _last_lines(ran: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    return "\n".join(f"   | {line}" for line in lines[-LINES_SHOWN:])
