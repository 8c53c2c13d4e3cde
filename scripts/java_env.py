"""Java, and what Maven fetches and builds: the official Java SDK's tests, and a Kafka to measure.

Rules: standard library only. Java 17 with its compiler and Maven are the machine's own; where they
are missing, what to run is said and nothing is done. What Maven fetches is pinned in the pom,
checked against the checksums of its repository, and kept in a folder of its own below `.tools`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from steps import Size, StopError, is_complete, require_space, run, step, write_stamp

OLDEST_JAVA = 17
APT_PACKAGES = ("openjdk-17-jdk-headless", "maven")
WEIGHT = re.compile(r"<(fetch_mb|disk_mb)>(\d+)</\1>")


def java_of_machine() -> int | None:
    """The version of the machine's Java compiler, or None where there is none that runs."""
    compiler = shutil.which("javac")
    if compiler is None:
        return None
    told = subprocess.run([compiler, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"javac (\d+)", told.stdout + told.stderr)
    return int(version[1]) if version else None


def missing_of_java() -> list[str]:
    """What of Java and Maven is missing or too old."""
    found = java_of_machine()
    missing = []
    if found is None:
        missing.append("a Java compiler (javac)")
    elif found < OLDEST_JAVA:
        missing.append(f"a newer Java than {found}")
    if shutil.which("mvn") is None:
        missing.append("Maven (mvn)")
    return missing


def require_java() -> None:
    """Stop with the line that installs Java and Maven, where one is missing or too old."""
    if missing := missing_of_java():
        raise StopError(
            f"This target wants Java {OLDEST_JAVA} or newer and Maven. Missing: "
            f"{' and '.join(missing)}. Run this, then the same command again:\n"
            f"sudo apt-get install -y {' '.join(APT_PACKAGES)}"
        )


def build_java(root: Path, source: Path, name: str, what: str) -> None:
    """Build the program of `source/pom.xml` and fetch what it needs, unless that is done already.

    It goes to `.tools/NAME`. The pom says how big it is, in its properties fetch_mb and disk_mb.
    """
    pom = source / "pom.xml"
    target = root / ".tools" / name
    stamp = target / "complete"
    key = _key_of(source)
    if is_complete(stamp, key):
        return
    stamp.unlink(missing_ok=True)
    for made in ("classes", "lib"):  # nothing of an older build may be left in these
        shutil.rmtree(target / made, ignore_errors=True)
    target.mkdir(parents=True, exist_ok=True)
    weight = dict(WEIGHT.findall(pom.read_text(encoding="utf-8")))
    size = Size(int(weight["fetch_mb"]), int(weight["disk_mb"]))
    require_space(target, size)
    command: list[str | Path] = [
        "mvn", "-q", "-B", "--strict-checksums", f"-Dmaven.repo.local={target / 'repository'}",
        "-f", pom, "compile", "dependency:copy-dependencies",
    ]  # fmt: skip
    with step(what, size, [target]):
        run(command, root / ".tools" / "logs" / f"maven-{name}.log", cwd=source)
    write_stamp(stamp, key)


def _key_of(source: Path) -> str:
    """All that the build depends on."""
    digest = hashlib.sha256()
    for path in sorted([source / "pom.xml", *source.rglob("*.java")]):
        digest.update(f"{path.relative_to(source)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
