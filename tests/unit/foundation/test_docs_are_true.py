"""What the documentation names is there: commands, options, fields, targets, metrics, links."""

from __future__ import annotations

import argparse
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import said_in_docs as said
from support.promised import promised
from support.tree import ROOT, files_of, named
from tidegate import cli
from tidegate.group_file.nodes import FileError
from tidegate.group_file.reading import read_group, read_spec
from tidegate_cosmos.cli import parser as cosmos
from tidegate_hub.cli import parser as hub
from tidegate_operator.cli import parser as operator
from tidegate_operator.plugin.cli import parser as plugin
from tidegate_operator.spec import OperatorSpec

PROGRAMS = {
    "tidegate-hub": hub,
    "tidegate-cosmos": cosmos,
    "tidegate-operator": operator,
    "kubectl consumergroup": plugin,
}
pages = pytest.mark.parametrize("page", said.PAGES, ids=named)


@cache
def parser_of(program: str, command: str) -> argparse.ArgumentParser:
    """Those of `tidegate` are its own, or of other packages, which are gathered apart."""
    if program == "tidegate":
        return cli.parser((command,) if command in cli._COMMANDS else ())
    return PROGRAMS[program]()


def wrong_commands(page: Path) -> list[str]:
    found = []
    for program, words in said.command_lines(page):
        wrong = said.wrong_in(parser_of(program, words[0]), words)
        if wrong:
            found.append(f"{program} {' '.join(words)}: there is no {wrong}")
    return found


@pages
def test_every_command_and_option_that_is_named_is_there(page: Path) -> None:
    assert wrong_commands(page) == []


def test_commands_are_found_and_wrong_ones_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`tidegate run --chekc FILE`\n```console\n$ A=1 tidegate lgder show\n"
        "$ tidegate up FILE… [--sate DIR]\n$ kubectl consumergroup move NAME P --to M\n```\n",
        encoding="utf-8",
    )
    found = [line.rpartition(" ")[2] for line in wrong_commands(page)]
    assert sorted(found) == ["--chekc", "--sate", "lgder"]
    assert sum(1 for each in said.PAGES for _ in said.command_lines(each)) > 100


def test_the_page_of_the_operator_names_every_option_of_it() -> None:
    commands = next(each.choices for each in operator()._actions if each.dest == "command")
    assert isinstance(commands, dict)
    options = {name for name in commands["run"]._option_string_actions if name.startswith("--")}
    page = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
    assert {name for name in options - {"--help"} if f"`{name}" not in page} == set()


def test_the_page_of_the_chart_names_every_service_that_the_identity_may_go_to() -> None:
    values = yaml.safe_load((ROOT / "charts/tidegate/values.yaml").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "helm.md").read_text(encoding="utf-8")
    for service, hosts in values["identityHosts"].items():
        (row,) = re.findall(rf"^\| `identityHosts\.{service}` \|.*$", page, re.MULTILINE)
        assert [host for host in hosts if f"`{host}`" not in row] == []
    (none,) = re.findall(r"--set-json 'identityHosts=(\{.*?\})'", page)
    assert yaml.safe_load(none) == {key: [] for key in values["identityHosts"]}


@pages
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    dead = [
        link
        for link, target, heading in said.links(page)
        if not target.exists()
        or (heading and target.suffix == ".md" and heading not in said.anchors(target))
    ]
    assert dead == []


@cache
def sources() -> str:
    below = ("consumer", "operator", "benchmarks", "cluster", "scripts", "tests")
    files = [*files_of(".py", below=below), *files_of("Makefile", "Dockerfile"), *files_of(".sh")]
    mine = Path(__file__).name
    return "".join(path.read_text(encoding="utf-8") for path in files if path.name != mine)


@pages
def test_every_variable_that_is_named_is_read_by_something(page: Path) -> None:
    names = set(re.findall(r"\bTIDEGATE_[A-Z_]+[A-Z]\b", said.text_of(page)))
    assert {name for name in names if name not in sources()} == set()


SYMPTOMS = ("limits", "operator", "production", "scaling", "troubleshooting")


@pytest.mark.parametrize("name", SYMPTOMS)
def test_every_reason_that_is_named_is_given_by_something(name: str) -> None:
    words = {
        word
        for word in said.inline(ROOT / "docs" / f"{name}.md")
        if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", word)
    }
    product = "".join(
        path.read_text(encoding="utf-8") for path in files_of(".py", below=("consumer", "operator"))
    )
    made = {word for word in words if f'"{word}"' in product}
    assert words - made == set()
    assert words, "a page of symptoms names none"


@cache
def metrics() -> set[str]:
    shown = {line.split()[1] for line in promised() if line.startswith("metric ")}
    # A counter's name in the code is without its ending.
    return {*shown, *(f"{name}_total" for name in shown)}


@pages
def test_every_metric_that_is_named_is_shown(page: Path) -> None:
    packages = {path.name for path in (*ROOT.glob("consumer/*"), *ROOT.glob("operator/*"))}
    text = re.sub(r"tidegate_\w+\.\w+|\w+/tidegate_\w+", "", said.text_of(page))
    named_there = set(re.findall(r"\btidegate_[a-z_]+[a-z]\b", text)) - packages
    # `grep tidegate_spark` asks for all that begin so.
    assert {n for n in named_there if not any(m.startswith(n) for m in metrics())} == set()


@pages
def test_every_make_target_that_is_named_is_there(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([A-Za-z][\w-]*):(?!=)", makefile, re.MULTILINE)) | {"bench-NAME"}
    benches = (ROOT / "benchmarks").glob("*.py")
    targets |= {f"bench-{path.stem.replace('_', '-')}" for path in benches}
    calls = r"(?:`|\$ |\w=\S+ )make ((?:[a-z][\w-]*(?: |`|\n|$))+)"
    said_there = re.findall(calls, said.text_of(page))
    words = {word for some in said_there for word in re.findall(r"[\w-]+", some)}
    assert words - targets == set()


@cache
def schema() -> dict[str, Any]:
    text = (ROOT / "crds" / "consumergroups.yaml").read_text(encoding="utf-8")
    version = yaml.safe_load(text)["spec"]["versions"][0]
    keys: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]
    return keys


def missing_key(path: str) -> str:
    """The first key of a path below spec or status that there is not; or nothing."""
    first, *rest = path.removeprefix(".").split(".")
    at = schema()[first]
    for key in rest:
        at = at.get("items", at)
        if at.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in at:
            return ""
        if key not in at.get("properties", {}):
            return key
        at = at["properties"][key]
    return ""


def paths_in(page: Path) -> set[str]:
    """Those that say that they are of a ConsumerGroup, by where they begin."""
    spec = schema()["spec"]["properties"]
    # Spark's own settings and values of the chart begin like some keys of ours.
    below = "|".join(key for key in spec if key not in ("image", "spark"))
    whole = re.compile(
        rf"\.?(?:spec|status)(?:\.[a-zA-Z]+)+|(?:{below})(?:\.[a-zA-Z]+)+"
        r"|spark\.(?:sparkConf|deps|output|(?:driver|executor)\.template)(?:\.[a-zA-Z]+)*"
    )
    found = {each.group() for text in said.inline(page) if (each := whole.fullmatch(text))}
    paths = {f if re.match(r"\.?(spec|status)\.", f) else f"spec.{f}" for f in found}
    return paths - OF_PODS


# What belongs into a template of pods.
OF_PODS = {"spec.imagePullSecrets"}


@pages
def test_every_field_of_a_group_that_is_named_is_there(page: Path) -> None:
    wrong = {path for path in paths_in(page) if missing_key(path)}
    assert wrong == set()


@pages
def test_every_group_of_the_documentation_can_be_read(page: Path) -> None:
    for block in said.blocks(page, "yaml"):
        for document in yaml.safe_load_all(block):
            is_group = isinstance(document, dict) and document.get("kind") == "ConsumerGroup"
            if is_group and "source" in document["spec"]:
                try:
                    read_group(block, page.name, runs_code="handler" in document["spec"])
                    if "handler" in document["spec"]:
                        read_spec(OperatorSpec, document)
                except FileError as error:
                    pytest.fail(f"{error}\n{block}")


def test_fields_are_found_and_wrong_ones_are_seen() -> None:
    assert missing_key("spec.scaling.objective.within") == ""
    assert missing_key(".status.members") == ""
    assert missing_key("spec.delivery.checkpoint.everySecond") == "everySecond"
    assert missing_key("spec.template.spec.containers") == ""
    assert sum(len(paths_in(page)) for page in said.PAGES) > 50
