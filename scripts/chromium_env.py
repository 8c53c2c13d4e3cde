"""Chromium and its driver, for the tests of the pages: Debian's own packages.

Rules: standard library only. What the machine has is taken. Where it has none, root on a Debian
gets the packages by apt; everybody else is told the line that installs them.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from steps import Size, StopError, run, step

PROGRAMS = ("chromium", "chromedriver")
# The fonts are what the pages' own ones fall back to on a machine without a desktop.
APT_PACKAGES = ("chromium", "chromium-driver", "fonts-liberation")
WEIGHT = Size(fetch_mb=134, disk_mb=442)


def ensure_chromium(root: Path) -> None:
    """Both programs are on the path."""
    if all(map(shutil.which, PROGRAMS)):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise StopError(
            "This target wants Chromium and its driver. Run this, then the same command again:\n"
            f"sudo apt-get install -y {' '.join(APT_PACKAGES)}"
        )
    logs, quiet = root / ".tools" / "logs", {"DEBIAN_FRONTEND": "noninteractive"}
    with step("Chromium from Debian, to test the pages", WEIGHT, []):
        run(["apt-get", "update"], logs / "apt-update.log", cwd=root, env=quiet)
        command = ["apt-get", "install", "-y", "--no-install-recommends", *APT_PACKAGES]
        run(command, logs / "apt-chromium.log", cwd=root, env=quiet)
