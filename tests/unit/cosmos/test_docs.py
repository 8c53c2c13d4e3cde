"""docs/cosmos-server.md is true: its options are the command line's, and its examples work."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any
from urllib.parse import urlsplit

from support.tree import ROOT
from tidegate_cosmos.admin.control import SCHEMAS
from tidegate_cosmos.admin.table import ROUTES
from tidegate_cosmos.cli import options_of, parser
from tidegate_cosmos.faults import Kind, Operation
from tidegate_cosmos.options import Options
from tidegate_cosmos.query.values import FUNCTIONS
from tidegate_cosmos.server import CosmosServer
from tidegate_http.messages import Request, Response
from tidegate_http.routes import respond

TEXT = (ROOT / "docs" / "cosmos-server.md").read_text(encoding="utf-8")
IN_WORDS = {"None": ("none",), "[]": ("none",), "False": ("off",)}
NOW = 1_800_000_000.0


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


def call(server: CosmosServer, method: str, path: str, body: object) -> Response:
    data = b"" if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"content-type": "application/json"}
    return respond(ROUTES, SCHEMAS, server, Request(method, path, headers, data), NOW)


def test_the_documented_options_are_those_of_the_command_line() -> None:
    documented = dict(re.findall(r"^\| `(--[a-z-]+)` \| (.*?) \|", TEXT, re.MULTILINE))
    (commands,) = (action for action in parser()._actions if action.choices)
    serve = dict(commands.choices or {})["serve"]
    options = {action.option_strings[0]: action.default for action in serve._actions[1:]}
    assert list(documented) == list(options)
    for option, default in options.items():
        shown = documented[option].strip("`")
        words = IN_WORDS.get(str(default), (str(default),))
        assert option == "--key-value" or shown in words, f"{option}: {shown} is not {default}"


def test_the_commands_that_start_a_server_can_be_understood() -> None:
    started = [command for command in COMMANDS if command.startswith("tidegate-cosmos ")]
    assert started
    for command in started:
        options = options_of(parser().parse_args(shlex.split(command)[1:]))
        assert [(each.name, each.ranges) for each in options.containers] == [
            ("events", 4),
            ("leases", None),
        ]


def test_the_requests_of_the_documentation_work_in_their_order() -> None:
    server = CosmosServer(Options(), print)
    server.add_container("sensors", "events", "/home", ranges=4)
    server.add_container("sensors", "leases")
    for command in REQUESTS:
        response = call(server, *request_of(command))
        assert response.status < 300, (command, response.body)


def test_every_kind_of_fault_has_an_example_and_every_operation_is_named() -> None:
    bodies = [request_of(command)[2] or {} for command in REQUESTS]
    assert {body["kind"] for body in bodies if "kind" in body} == set(Kind)
    assert all(f"`{operation}`" in TEXT for operation in Operation)


def test_every_function_of_queries_is_named() -> None:
    assert all(f"`{name}`" in TEXT for name in FUNCTIONS)


def test_the_python_of_the_documentation_is_python() -> None:
    assert len(blocks("python")) == 3
    for block in blocks("python"):
        ast.parse(block)


def test_every_link_within_the_page_leads_to_a_heading() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) == anchors
