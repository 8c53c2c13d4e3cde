"""Builds what a release is made of, and checks it: `make release`, `make release FINAL=1`.

    scripts/release.py build              wheel, sdist, chart, notes and checksums, into dist/
    scripts/release.py version 0.2.0      writes the version to all places that hold it

Rules: standard library only. The version is `__version__` of the package; what cannot read it there
(the chart, the image's label) holds a copy, which `version` writes and every build compares. What
is built is looked into before it counts. A build that is not FINAL says what is still missing for a
release; a FINAL one refuses. Nothing is pushed anywhere.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from steps import Size, StopError, exit_code_of, run, say, step

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
NUMBER = r"\d+\.\d+\.\d+"
# Each place that holds the version: its file, and the pattern around it. The first is the one.
PLACES = (
    ("consumer/tidegate/__init__.py", r'(?<=^__version__ = ")' + NUMBER),
    ("charts/tidegate/Chart.yaml", r"(?<=^version: )" + NUMBER),
    ("charts/tidegate/Chart.yaml", r"(?<=^appVersion: )" + NUMBER),
    ("Dockerfile", r"(?<=^ARG VERSION=)" + NUMBER),
)
HEADING = re.compile(rf"^## \[({NUMBER})\] - (unreleased|\d{{4}}-\d\d-\d\d)$", re.MULTILINE)


def versions(root: Path) -> dict[str, str]:
    """What each place says, by its file and what stands before the version."""
    found = {}
    for name, pattern in PLACES:
        text = (root / name).read_text(encoding="utf-8")
        matches = re.findall(pattern, text, re.MULTILINE)
        if len(matches) != 1:
            raise StopError(f"{name} holds the version {len(matches)} times: once is right.")
        found[f"{name} {pattern[4:].partition(')')[0]}"] = matches[0]
    return found


def agreed_version(root: Path) -> str:
    """The version, where all places say the same."""
    found = versions(root)
    if len(set(found.values())) > 1:
        told = ", ".join(f"{place} {version}" for place, version in found.items())
        raise StopError(f"The version is not one: {told}. Run `scripts/release.py version X.Y.Z`.")
    return next(iter(found.values()))


def write_version(root: Path, version: str) -> None:
    """The version in all places; the change log gets a heading for what is to come."""
    if not re.fullmatch(NUMBER, version):
        raise StopError(f"'{version}' is no version: write three numbers, such as 0.2.0.")
    for name, pattern in PLACES:
        path = root / name
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(pattern, version, text, flags=re.MULTILINE), encoding="utf-8")
    path = root / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    first = HEADING.search(text)
    if first is not None and first[1] != version:
        text = f"{text[: first.start()]}## [{version}] - unreleased\n\n{text[first.start() :]}"
        path.write_text(text, encoding="utf-8")


def notes(change_log: str, version: str) -> tuple[str, str]:
    """What the change log says of a version: its date or 'unreleased', and the text."""
    headings = list(HEADING.finditer(change_log))
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        if heading[1] == version:
            text = change_log[heading.end() : after.start() if after else None]
            return heading[2], text.strip() + "\n"
    raise StopError(f"CHANGELOG.md has no heading '## [{version}] - …': write what has changed.")


def still_missing(root: Path, version: str, date: str) -> Iterator[str]:
    """What keeps a build from being a release."""
    if date == "unreleased":
        yield f"CHANGELOG.md calls {version} unreleased: write its date"
    if _git(root, "status", "--porcelain"):
        yield "the tree holds changes that are not committed"
    if f"v{version}" not in _git(root, "tag", "--points-at", "HEAD").split():
        yield f"this commit has no tag v{version}"


def released_values(values: str, repository: str, version: str) -> str:
    """The chart's values as a release has them: images of its own version, none called `dev`."""
    text, changed = values, 0
    for pattern, image in (
        (r"(?<=^  repository: )\S+", repository),
        (r"(?<=^  tag: )dev$", '""'),  # of the chart's appVersion
        (r"(?<=^sparkImage: )\S+", f"{repository}-spark:{version}"),
        (r"(?<=^  image: )\S+/hub:dev$", f"{repository}-hub:{version}"),
    ):
        text, count = re.subn(pattern, image, text, flags=re.MULTILINE)
        changed += count == 1
    if changed != 4:
        raise StopError("charts/tidegate/values.yaml does not name the images as it used to.")
    return text


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _helm() -> Path:
    caches = Path(os.environ.get("TIDEGATE_CACHE") or Path.home() / ".cache" / "tidegate")
    found = shutil.which("helm", path=f"{caches / 'bin'}:{os.environ['PATH']}")
    if found is None:
        raise StopError("There is no helm, which packs the chart: install it, or `make cluster`.")
    return Path(found)


def _build_python(log: Path) -> None:
    environment = {"SOURCE_DATE_EPOCH": _git(ROOT, "log", "-1", "--format=%ct")}
    run(
        [sys.executable, "-m", "hatchling", "build", "--directory", DIST],
        log, cwd=ROOT, env=environment,
    )  # fmt: skip


def _build_chart(helm: Path, repository: str, version: str, log: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        chart = Path(scratch) / "tidegate"
        shutil.copytree(ROOT / "charts" / "tidegate", chart)
        values = chart / "values.yaml"
        text = released_values(values.read_text(encoding="utf-8"), repository, version)
        values.write_text(text, encoding="utf-8")
        run([helm, "lint", "--strict", chart], log, cwd=ROOT)
        run([helm, "package", chart, "--destination", DIST], log, cwd=ROOT)


def check_built(dist: Path, version: str) -> list[Path]:
    """The files of a release, each looked into: the right version, and nothing that is not ours."""
    wheel = dist / f"tidegate-{version}-py3-none-any.whl"
    sdist, chart = dist / f"tidegate-{version}.tar.gz", dist / f"tidegate-{version}.tgz"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"tidegate-{version}.dist-info/METADATA").decode()
        tops = {name.partition("/")[0] for name in archive.namelist()}
    if f"\nVersion: {version}\n" not in metadata:
        raise StopError(f"{wheel.name} says another version than {version}.")
    if strange := {top for top in tops if not top.startswith("tidegate")}:
        raise StopError(f"{wheel.name} holds {', '.join(sorted(strange))}, which is not ours.")
    with tarfile.open(sdist) as packed:
        names = set(packed.getnames())
    for name in ("pyproject.toml", "LICENSE", "consumer/tidegate/__init__.py"):
        if f"tidegate-{version}/{name}" not in names:
            raise StopError(f"{sdist.name} lacks {name}.")
    with tarfile.open(chart) as packed:
        told = packed.extractfile("tidegate/Chart.yaml")
        text = told.read().decode() if told else ""
        crds = [name for name in packed.getnames() if name.startswith("tidegate/crds/")]
    if not re.search(rf"^version: {re.escape(version)}$", text, re.MULTILINE) or not crds:
        raise StopError(f"{chart.name} is not the chart of {version} with its kind.")
    return [wheel, sdist, chart]


def build(repository: str, is_final: bool) -> None:
    """Everything into dist/, checked; see the module."""
    version = agreed_version(ROOT)
    date, text = notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    missing = list(still_missing(ROOT, version, date))
    if missing and is_final:
        raise StopError(f"{version} is no release yet: {'; '.join(missing)}.")
    helm, log = _helm(), ROOT / ".tools" / "logs" / "release.log"
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with step("wheel and sdist", Size(0, 5), [DIST]):
        _build_python(log)
    with step("the chart", Size(0, 1), [DIST]):
        _build_chart(helm, repository, version, log)
    files = check_built(DIST, version)
    (DIST / "NOTES.md").write_text(text, encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for path in files:
        say(f"   dist/{path.name}: {path.stat().st_size / 1000:.0f} kB")
    say("Its images, which are not built here:")
    label = f"docker build --build-arg REVISION={_git(ROOT, 'rev-parse', 'HEAD')}"
    for target in ("", "spark", "hub"):
        chosen, name = (f"--target {target} ", f"-{target}") if target else ("", "")
        say(f"  {label} {chosen}--tag {repository}{name}:{version} .")
    for line in missing:
        say(f"not a release yet: {line}")


def main() -> None:
    match sys.argv[1:]:
        case ["version", version]:
            write_version(ROOT, version)
            say(f"{agreed_version(ROOT)}: see `git diff`, then docs/releasing.md")
        case ["build"]:
            repository = os.environ.get("IMAGE") or "tidegate.local/tidegate"
            build(repository, is_final=os.environ.get("FINAL") == "1")
        case _:
            raise StopError("Say `release.py build` or `release.py version X.Y.Z`.")


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
