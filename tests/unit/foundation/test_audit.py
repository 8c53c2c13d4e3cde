"""An audit that could not be done is never called a clean one; and what is inside is listed."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import audit
import sbom

PINS = (
    "aiohttp==3.14.5 \\\n    --hash=sha256:0133 \\\nyarl==1.2 ; sys_platform == 'linux'\n# via x\n"
)


def answer(*packages: dict[str, Any]) -> audit.Answer:
    return audit.read_answer(json.dumps({"dependencies": packages}), "", len(packages))


def test_the_pins_of_a_lock_file_are_asked_about() -> None:
    assert audit.pins_of(PINS) == [("aiohttp", "3.14.5"), ("yarl", "1.2")]
    assert all(audit.pins_of(lock.read_text()) for lock in audit.REQUIREMENTS.glob("*.lock"))


def test_what_is_known_is_told_with_what_mends_it() -> None:
    flaw = {"id": "PYSEC-1", "fix_versions": ["1.3"]}
    found = answer({"name": "yarl", "version": "1.2", "vulns": [flaw]})
    assert found.known == ("yarl 1.2: PYSEC-1 (mended in 1.3)",)


def test_packages_that_nobody_looked_up_are_not_clean() -> None:
    skipped = {"name": "yarl", "skip_reason": "Dependency not found on PyPI"}
    assert "passed over" in answer(skipped, skipped).why_not
    assert "knows 0 of 5" in audit.read_answer('{"dependencies": []}', "", 5).why_not


def test_a_database_that_cannot_be_reached_is_not_clean() -> None:
    found = audit.read_answer("", "Traceback\nConnectionError: Could not resolve host\n", 5)
    assert found.why_not == "ConnectionError: Could not resolve host"
    assert answer({"name": "yarl", "version": "1.2", "vulns": []}) == audit.Answer()


def test_whatever_is_depended_on_is_on_the_page_with_its_reason() -> None:
    project = tomllib.loads((audit.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(one for name in set(extras) - {"dev", "fuzz"} for one in
             extras[name])]  # fmt: skip
    names = {re.split(r"[<>=~!\[; ]", one)[0] for one in asked}
    page = (audit.ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.split("| package | why |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([a-z0-9-]+)`", table)) == names


def test_packages_of_debian_are_components() -> None:
    (found,) = sbom.debian("libc6 2.36-9+deb12u10 amd64\nno line\n")
    assert found["purl"] == "pkg:deb/debian/libc6@2.36-9+deb12u10?arch=amd64"
