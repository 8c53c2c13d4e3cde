"""All that set-up and images fetch from a package index is checked by a hash of our own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import python_env
from support.tree import ROOT

DOCKERFILES = [ROOT / "Dockerfile", *sorted((ROOT / "cluster").rglob("Dockerfile"))]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


def commands(text: str) -> Iterator[list[str]]:
    """The commands of all RUN instructions, in words."""
    joined = re.sub(r"\\\n(?:\s*#.*\n)*", " ", text)
    for line in joined.splitlines():
        if line.startswith("RUN "):
            for command in re.split(r"&&|\|\||;", line.removeprefix("RUN ")):
                yield [word for word in shlex.split(command) if not word.startswith("--mount=")]


def flaws(text: str) -> list[str]:
    """What a Dockerfile would fetch without a hash."""
    found = []
    if re.search(r"^ADD\s", text, re.MULTILINE):
        found.append("ADD fetches what has no hash: COPY it")
    for words in commands(text):
        programs = {Path(word).name for word in words[:1]}
        if programs & {"curl", "wget", "git", "npx"}:
            found.append(f"{' '.join(words)}: fetches what has no hash")
        if programs & {"npm"} and "ci" not in words and "install" in words:
            found.append(f"{' '.join(words)}: npm ci takes what package-lock.json names")
        if programs & {"pip", "pip3"} and {"install", "wheel", "download"} & {*words}:
            found += _flaws_of_pip(words)
    return found


def _flaws_of_pip(words: list[str]) -> Iterator[str]:
    said = " ".join(words)
    if "--no-deps" not in words:
        yield f"{said}: without --no-deps pip takes more than it is told"
    if "--no-index" not in words and "--require-hashes" not in words:
        yield f"{said}: neither --require-hashes nor --no-index"
    is_wheels_only = "--only-binary :all:" in said and "--no-binary" not in words
    is_local = "--no-index" in words and said.endswith(".whl")
    if not (is_wheels_only or is_local or "--no-build-isolation" in words):
        yield f"{said}: an isolated build fetches its tools without hashes"


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_stage_of_an_image_fetches_what_has_no_hash(path: Path) -> None:
    assert flaws(path.read_text(encoding="utf-8")) == []


def test_the_commands_of_the_dockerfile_are_seen() -> None:
    seen = [each for each in commands(DOCKERFILES[0].read_text("utf-8")) if "pip" in each[0]]
    assert len(seen) >= 6


@pytest.mark.parametrize(
    "line",
    [
        "pip install --no-deps --require-hashes --only-binary :all: --no-binary x -r a.lock",
        "pip install --no-deps --require-hashes -r a.lock",
        "pip install --no-deps --only-binary :all: -r a.lock",
        "pip install --require-hashes --only-binary :all: -r a.lock",
        "true && pip wheel --no-deps --no-index /source",
        "curl -O https://example.com/x",
        "npm install x",
    ],
)
def test_such_a_command_would_be_found(line: str) -> None:
    assert flaws(f"FROM x\nRUN {line}\n") != []


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_a_hash(path: Path) -> None:
    pins = re.findall(r"^\S+==\S+.*?(?=^\S|\Z)", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert pins
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_packages_that_are_built_here_are_built_by_packages_with_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(python_env, "run", lambda words, *_, **__: ran.append([*map(str, words)]))
    monkeypatch.setattr(python_env, "ensure_venv_module", lambda _: None)
    (tmp_path / "requirements").mkdir()
    for layer in ("build", "spark"):
        text = f"# size: 1 MB to fetch, 1 MB on disk\n{layer}==1 --hash=sha256:0\n"
        (tmp_path / "requirements" / f"{layer}.lock").write_text(text, encoding="utf-8")
    python_env.ensure_layers(tmp_path, ["spark"])
    fills = [words for words in ran if "--require-hashes" in words]
    assert [Path(words[words.index("--requirement") + 1]).stem for words in fills] == [
        "build", "spark",
    ]  # fmt: skip
    assert "--only-binary=:all:" in fills[0] and "--no-build-isolation" in fills[1]
