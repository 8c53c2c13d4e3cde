"""What is inside, for machines: `make sbom` writes CycloneDX files into build/sbom.

Rules: the packages of Python are those of the lock files, with their hashes, which is all that an
image installs; with IMAGE=NAME:TAG, and for that of Spark SPARK_IMAGE=NAME:TAG, the packages of
Debian in it are added, as the image itself lists them. Nothing is invented: what could not be asked
is left out, and that is said. Standard library only; cyclonedx-py is pinned in
requirements/audit.lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / ".venv" / "bin" / "cyclonedx-py"
RESULTS = ROOT / "build" / "sbom"
# What the images install, by the variable that names one: the consumer and the operator; Spark's.
LOCKS = {"operator": "IMAGE", "spark": "SPARK_IMAGE"}
_LISTED = "${Package} ${Version} ${Architecture}\n"


def of_lock(name: str) -> dict[str, Any]:
    """The packages of a lock file."""
    lock = ROOT / "requirements" / f"{name}.lock"
    ran = subprocess.run(
        [
            str(PROGRAM), "requirements", str(lock), "--pyproject", str(ROOT / "pyproject.toml"),
            "--output-format", "JSON", "--output-reproducible",
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def debian(listed: str) -> list[dict[str, Any]]:
    """What `dpkg-query` lists, as components."""
    rows = (line.split(" ") for line in listed.splitlines() if line.count(" ") == 2)
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
            "name": name,
            "version": version,
            "purl": f"pkg:deb/debian/{name}@{version}?arch={architecture}",
        }
        for name, version, architecture in rows
    ]


def in_image(image: str) -> list[dict[str, Any]]:
    ran = subprocess.run(
        ["docker", "run", "--rm", "--entrypoint", "dpkg-query", image, "-W", "-f", _LISTED],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode != 0:
        print(f"the packages of Debian in {image} are left out: {ran.stderr.strip()[:300]}")
        return []
    return debian(ran.stdout)


def main() -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name, variable in LOCKS.items():
        document, image = of_lock(name), os.environ.get(variable, "")
        if image:
            document["components"] += in_image(image)
        path = RESULTS / f"{name}.cdx.json"
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        print(f"{path}: {len(document['components'])} components")
        if not image:
            print(f"  {variable}=NAME:TAG adds the packages of Debian in that image")
    return 0


if __name__ == "__main__":
    sys.exit(main())
