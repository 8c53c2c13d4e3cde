"""Releases: one version in all places, a change log in its form, and what a build looks into."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

import release
import tidegate
from steps import StopError
from support.tree import ROOT

CHANGE_LOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that hold the version, and the change log."""
    for name in {name for name, _ in release.PLACES} | {"CHANGELOG.md"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_package_chart_and_image_labels_have_one_version() -> None:
    assert set(release.versions(ROOT).values()) == {tidegate.__version__}


def test_every_image_is_labelled_with_the_version() -> None:
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)[1:]
    labelled = {
        stage.split()[2]: 'opencontainers.image.version="$VERSION"' in stage
        for stage in stages
        if " AS " in stage.partition("\n")[0]
    }
    # The hub and the last stage are made from these.
    assert labelled["tidegate"] and labelled["spark"]


@pytest.mark.parametrize(
    "module", ["tidegate.cli", "tidegate_operator.cli", "tidegate_operator.plugin.__main__"]
)
def test_the_command_lines_say_the_version(module: str) -> None:
    program = f"import sys; from {module} import main; sys.argv = ['it', '--version']; main()"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, tidegate.__version__), ran.stderr


def test_a_version_that_is_written_is_in_all_places_and_in_the_change_log(tree: Path) -> None:
    release.write_version(tree, "12.3.4")
    assert release.agreed_version(tree) == "12.3.4"
    log = (tree / "CHANGELOG.md").read_text(encoding="utf-8")
    assert release.notes(log, "12.3.4") == ("unreleased", "\n")
    release.write_version(tree, "12.3.4")
    assert (tree / "CHANGELOG.md").read_text(encoding="utf-8") == log


def test_a_version_that_differs_in_one_place_is_refused_with_that_place(tree: Path) -> None:
    chart = tree / "charts/tidegate/Chart.yaml"
    chart.write_text(re.sub("(?m)^appVersion: .*", "appVersion: 9.9.9", chart.read_text("utf-8")))
    with pytest.raises(StopError, match=r"Chart.yaml \^appVersion:  9\.9\.9"):
        release.agreed_version(tree)


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1", ""])
def test_what_is_no_version_is_not_written(version: str, tree: Path) -> None:
    with pytest.raises(StopError, match="is no version"):
        release.write_version(tree, version)


# --- the change log


def test_the_change_log_keeps_its_form() -> None:
    headings = re.findall(r"^## .*$", CHANGE_LOG, re.MULTILINE)
    assert len(headings) == len(release.HEADING.findall(CHANGE_LOG)), headings
    numbers = [
        tuple(map(int, found[0].split("."))) for found in release.HEADING.findall(CHANGE_LOG)
    ]
    assert numbers == sorted(set(numbers), reverse=True)
    dates = [found[1] for found in release.HEADING.findall(CHANGE_LOG)]
    assert "unreleased" not in dates[1:]
    for version, _ in release.HEADING.findall(CHANGE_LOG):
        sections = re.findall(r"^### (.*)$", release.notes(CHANGE_LOG, version)[1], re.MULTILINE)
        assert sections == [name for name in SECTIONS if name in sections], version


def test_the_notes_of_a_version_end_where_the_next_begins() -> None:
    log = "# Log\n\n## [0.2.0] - 2026-01-02\n\n### Added\n- B\n\n## [0.1.0] - 2026-01-01\n\n- A\n"
    assert release.notes(log, "0.2.0") == ("2026-01-02", "### Added\n- B\n")
    assert release.notes(log, "0.1.0") == ("2026-01-01", "- A\n")
    with pytest.raises(StopError, match=r"no heading '## \[0\.3\.0\]"):
        release.notes(log, "0.3.0")


# --- what is built


def test_a_release_names_its_images_by_its_version() -> None:
    values = (ROOT / "charts/tidegate/values.yaml").read_text(encoding="utf-8")
    text = release.released_values(values, "registry.example/tidegate", "1.2.3")
    assert "  repository: registry.example/tidegate\n" in text
    assert '\n  tag: ""\n' in text
    assert "sparkImage: registry.example/tidegate-spark:1.2.3\n" in text
    assert "  image: registry.example/tidegate-hub:1.2.3\n" in text
    with pytest.raises(StopError, match="does not name the images"):
        release.released_values("image: {}\n", "registry.example/tidegate", "1.2.3")


def test_what_keeps_a_build_from_being_a_release_is_said(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a")
        subprocess.run(["git", "-C", str(tmp_path), *names, *words], check=True)

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "a")
    (tmp_path / "new").touch()
    found = list(release.still_missing(tmp_path, "1.0.0", "unreleased"))
    assert [line.partition(":")[0] for line in found] == [
        "CHANGELOG.md calls 1.0.0 unreleased",
        "the tree holds changes that are not committed",
        "this commit has no tag v1.0.0",
    ]
    (tmp_path / "new").unlink()
    git("tag", "v1.0.0")
    assert not list(release.still_missing(tmp_path, "1.0.0", "2026-01-01"))


def built(
    dist: Path, *, wheel: str = "1.0.0", strange: str = "tidegate", chart: str = "1.0.0"
) -> None:
    """Files as a build of 1.0.0 leaves them, but for what is named."""
    with zipfile.ZipFile(dist / "tidegate-1.0.0-py3-none-any.whl", "w") as archive:
        archive.writestr("tidegate-1.0.0.dist-info/METADATA", f"Name: tidegate\nVersion: {wheel}\n")
        archive.writestr(f"{strange}/__init__.py", "")
    sdist = ("pyproject.toml", "LICENSE", "consumer/tidegate/__init__.py")
    packed(dist / "tidegate-1.0.0.tar.gz", {f"tidegate-1.0.0/{name}": "" for name in sdist})
    packed(
        dist / "tidegate-1.0.0.tgz",
        {"tidegate/Chart.yaml": f"version: {chart}\n", "tidegate/crds/a.yaml": ""},
    )


def packed(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, BytesIO(text.encode()))


def test_a_build_is_looked_into(tmp_path: Path) -> None:
    built(tmp_path)
    assert len(release.check_built(tmp_path, "1.0.0")) == 3
    built(tmp_path, wheel="1.0.1")
    with pytest.raises(StopError, match="whl says another version"):
        release.check_built(tmp_path, "1.0.0")
    built(tmp_path, strange="tests")
    with pytest.raises(StopError, match="holds tests, which is not ours"):
        release.check_built(tmp_path, "1.0.0")
    built(tmp_path, chart="0.9.0")
    with pytest.raises(StopError, match=r"tgz is not the chart of 1\.0\.0"):
        release.check_built(tmp_path, "1.0.0")
