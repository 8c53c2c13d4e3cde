"""docs/hub.md is true: its options are those of the command line, and its examples work."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.admin_hub import MemoryClient, call, publish
from support.tree import ROOT
from tidegate_hub.cli import parser
from tidegate_hub.config import parse_config
from tidegate_hub.faults import Kind
from tidegate_hub.server import HubServer

TEXT = (ROOT / "docs" / "hub.md").read_text(encoding="utf-8")
# Defaults that are said in other words.
IN_WORDS = {"None": ("none", "off", "for ever", "any size"), "False": ("off",)}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


COMMANDS = [
    line.removeprefix("$ ")
    for block in blocks("console")
    for line in block.splitlines()
    if line.startswith("$ ")
]
REQUESTS = [command for command in COMMANDS if command.startswith("curl ")]


def request_of(command: str) -> tuple[str, str, Any]:
    """Method, path and body of a curl command."""
    words = shlex.split(command)[1:]
    method, body, url = "GET", None, ""
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-H":
            assert words.pop(0) == "Content-Type: application/json"
        elif word == "-d":
            body = json.loads(words.pop(0))
        else:
            url = word
    return method, urlsplit(url).path, body


def options() -> dict[str, Any]:
    """The options of `serve` with their defaults, from the command line's own definitions."""
    (commands,) = (action for action in parser()._actions if action.choices)
    serve = dict(commands.choices or {})["serve"]
    return {action.option_strings[0]: action.default for action in serve._actions[1:]}


def test_the_documented_options_are_those_of_the_command_line() -> None:
    documented = dict(re.findall(r"^\| `(--[a-z-]+)` \| (.*?) \|", TEXT, re.MULTILINE))
    assert list(documented) == list(options())
    for option, default in options().items():
        shown = documented[option].strip("`")
        words = IN_WORDS.get(str(default), (str(default),))
        assert option == "--hub" or shown in words, f"{option}: {shown} is not {default}"
    assert documented["--hub"] == "`telemetry:16`"


def test_the_commands_that_start_a_hub_can_be_understood() -> None:
    started = [command for command in COMMANDS if command.startswith("tidegate-hub ")]
    assert started
    for command in started:
        parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("command", REQUESTS)
def test_a_request_of_the_documentation_works(server: HubServer, command: str) -> None:
    publish(server, "telemetry", "0", 120)
    client = MemoryClient(server)
    call(server, "POST", "/api/v1/faults", {"kind": "refuse_token"})
    method, path, body = request_of(command)
    path = path.replace("/connections/1", f"/connections/{client.hub_end.number}")
    response, answer = call(server, method, path, body)
    is_the_error = body == {"name": "orders", "partitions": 0}
    assert response.status == 400 if is_the_error else response.status < 300, answer


def test_the_error_of_the_documentation_is_the_one_that_comes(server: HubServer) -> None:
    body = {"name": "orders", "partitions": 0}
    response, _ = call(server, "POST", "/api/v1/hubs", body)
    assert response.body.decode() in TEXT


def test_every_kind_of_fault_has_an_example() -> None:
    bodies = [request_of(command)[2] or {} for command in REQUESTS]
    assert {body["kind"] for body in bodies if "kind" in body} == set(Kind)


def test_the_config_file_of_the_documentation_is_accepted() -> None:
    (text,) = blocks("json")
    telemetry, orders = parse_config(text)
    assert (telemetry.partitions, telemetry.groups) == (16, ("$Default", "analytics"))
    assert (orders.name, orders.partitions) == ("orders", 4)


def test_the_python_of_the_documentation_is_python() -> None:
    assert len(blocks("python")) == 3
    for block in blocks("python"):
        ast.parse(block)


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) == anchors
