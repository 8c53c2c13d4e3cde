"""Known vulnerabilities in what is pinned: `make audit`.

Rules: every lock file is asked about, by its exact pins, and nothing is installed for it. Where the
database cannot be reached that is said, with what was tried, and the pins are printed, so that
somebody can ask elsewhere: an audit that could not be done is never called a clean one. It ends
with 0 where nothing is known, 1 where something is, 3 where nobody could be asked.
Standard library only; pip-audit is pinned in requirements/audit.lock.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
PROGRAM = ROOT / ".venv" / "bin" / "pip-audit"
# Both are asked: each knows what the other does not.
SERVICES = ("pypi", "osv")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
UNASKED = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said of one lock file."""

    known: tuple[str, ...] = ()
    # Why it could not be asked; '' where it was.
    why_not: str = ""


def pins_of(text: str) -> list[tuple[str, str]]:
    """Names and versions in a lock file."""
    return PIN.findall(text)


def read_answer(output: str, errors: str, pins: int) -> Answer:
    """Of pip-audit's JSON. A package that it did not look up was not asked about."""
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:
        lines = [line for line in errors.strip().splitlines() if line.strip()]
        return Answer(why_not=lines[-1][:300] if lines else "it said nothing")
    packages = found.get("dependencies", [])
    passed = [each for each in packages if "skip_reason" in each]
    if len(passed) * 2 > len(packages) or len(packages) * 2 < pins:
        reason = passed[0]["skip_reason"] if passed else f"it knows {len(packages)} of {pins} pins"
        return Answer(why_not=f"{len(passed)} packages were passed over: {reason[:200]}")
    return Answer(
        tuple(
            f"{each['name']} {each['version']}: {flaw['id']}"
            f" (mended in {', '.join(flaw['fix_versions']) or 'no version yet'})"
            for each in packages
            for flaw in each.get("vulns", [])
        )
    )


def ask(service: str, lock: Path) -> Answer:
    ran = subprocess.run(
        [
            str(PROGRAM), "--requirement", str(lock), "--vulnerability-service", service,
            "--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off",
            "--timeout", "10",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return read_answer(ran.stdout, ran.stderr, len(pins_of(lock.read_text(encoding="utf-8"))))


def main() -> int:
    locks = sorted(REQUIREMENTS.glob("*.lock"))
    known: dict[str, set[str]] = {}
    asked: set[Path] = set()
    for service in SERVICES:
        for lock in locks:
            answer = ask(service, lock)
            if answer.why_not:
                print(f"{service}: {lock.name} could not be asked about: {answer.why_not}")
                break  # the others would say the same
            asked.add(lock)
            for each in answer.known:
                known.setdefault(each, set()).add(lock.name)
    for each, places in sorted(known.items()):
        print(f"KNOWN {each}, in {', '.join(sorted(places))}")
    if known:
        return 1
    if asked == set(locks):
        print(f"nothing is known of the pins of {len(locks)} lock files")
        return 0
    print("Not audited. The pins, to be asked about where the databases can be reached:")
    for lock in locks:
        print(f"{lock.name}:")
        for name, version in pins_of(lock.read_text(encoding="utf-8")):
            print(f"  {name}=={version}")
    return UNASKED


if __name__ == "__main__":
    sys.exit(main())
