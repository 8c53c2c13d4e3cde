"""Hostile text in a group file and its secrets: aliases, control characters, tags, numbers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tidegate.group_file.nodes import FileError, document_of, documents, plain_of
from tidegate.group_file.reading import read_group, read_spec
from tidegate.group_file.secrets import Vault
from tidegate.group_file.spec import FileSpec, Secret
from tidegate.ledger.layout import GroupNames
from tidegate.settings import MemberSettings, SettingsError, split_url

GROUP = """
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: {name}}}
spec:
  source: {{eventHubs: {{hub: {hub}, connectionString: {{env: HUB}}}}}}
  ledger: {{container: ledger, connectionString: {{env: STORE}}}}
  handler: {{code: {code}}}
  delivery: {{checkpoint: {{everySeconds: {every}}}}}
"""


def group(**given: str) -> str:
    usual = {"name": "home", "hub": "telemetry", "code": '"h.py:handle"', "every": "5"}
    return GROUP.format(**(usual | given))


def bomb(kind: str) -> str:
    """Some lines that mean 9 to the power of 9 values."""
    begin, end, mark = ("[", "]", "") if kind == "list" else ("{", "}", "k{}: ")
    lines = ["a0: &a0 " + begin + ", ".join(mark.format(n) + "x" for n in range(9)) + end]
    for number in range(1, 10):
        items = ", ".join(mark.format(n) + f"*a{number - 1}" for n in range(9))
        lines.append(f"a{number}: &a{number} {begin}{items}{end}")
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["list", "map"])
def test_a_bomb_of_aliases_is_refused_at_once(kind: str) -> None:
    text = bomb(kind)
    assert len(text) < 1_000
    began = time.thread_time()
    with pytest.raises(FileError, match=r"group.yaml:\d+: it has more than 50000 values"):
        read_group(text, "group.yaml")
    with pytest.raises(FileError, match="values once its aliases are written out"):
        document_of(text, "group.yaml")
    assert time.thread_time() - began < 5


def test_a_file_of_json_in_ascii_says_what_its_characters_say() -> None:
    """JSON writes a character beyond 16 bits as two escapes, and is YAML to a person."""
    document = {"options": {"mood 😀": "wörld 😀 \U0010ffff"}, "list": ["😀", 1]}
    assert document_of(json.dumps(document), "group.json") == document


def test_half_of_a_character_is_refused_with_its_line() -> None:
    for text in ('a: 1\nb: "\\ud83d"', 'a: 1\n"\\ude00": 2', 'a: 1\nb: ["\\ude00\\ud83d"]'):
        with pytest.raises(FileError, match=r"group.yaml:2: it has half of a character"):
            document_of(text, "group.yaml")


def test_a_bomb_in_several_documents_is_one_bomb() -> None:
    rows = "[" + "x, " * 400 + "]"
    one = f"a: &a {rows}\nb: [{'*a, ' * 50}]"
    with pytest.raises(FileError, match="more than 50000 values"):
        list(documents("\n---\n".join([one] * 3), "group.yaml"))


def test_an_alias_of_itself_is_refused() -> None:
    with pytest.raises(FileError, match="nests deeper"):
        document_of("&a [*a, *a]", "group.yaml")


def test_an_honest_alias_is_what_it_names() -> None:
    assert document_of("a: &a {b: 1}\nc: *a", "x") == {"a": {"b": 1}, "c": {"b": 1}}
    assert document_of("", "x") is None
    with pytest.raises(FileError, match="it has 2 documents"):
        document_of("a: 1\n---\nb: 2", "x")


@pytest.mark.parametrize(
    "value",
    ["!!float nan", "!!float abc", "!!int abc", "!!bool maybe", "!!int '[[['", ".inf", ".nan",
     "1.0e+999", "9" * 5_000, "0b_", "-.inf"],
)  # fmt: skip
def test_a_number_that_is_none_is_refused_where_it_stands(value: str) -> None:
    with pytest.raises(FileError, match=r"^group.yaml:9: "):
        read_group(group(every=value), "group.yaml")
    with pytest.raises(FileError):
        plain_of(next(documents(f"a: {value}", "x")))


CONTROL = [
    "a\nb",
    "a\tb",
    "a\rb",
    "a\0b",
    "a\x1b[2Jb",
    "a\u2028b",
    "a\u202eb",
    "a\u200bb",
    "a\x7fb",
]


@pytest.mark.parametrize("text", CONTROL)
def test_a_text_with_a_control_character_is_refused_with_its_line(text: str) -> None:
    written = '"' + "".join(f"\\u{ord(char):04x}" for char in text) + '"'
    for name in ("hub", "code"):
        with pytest.raises(FileError, match=r"^group.yaml:\d: .*a control character is in it"):
            read_group(group(**{name: written}), "group.yaml")
    with pytest.raises(FileError, match=r"^group.yaml:4: metadata.name .*control characters"):
        read_group(group(name=written), "group.yaml")


@pytest.mark.parametrize("text", CONTROL)
def test_so_is_one_that_an_api_server_has(text: str) -> None:
    spec: dict[str, Any] = {
        "source": {"eventHubs": {"hub": text, "connectionString": {"env": "HUB"}}},
        "ledger": {"container": "ledger", "connectionString": {"env": "STORE"}},
        "handler": {"code": "h.py:handle"},
    }
    with pytest.raises(FileError, match=r"spec.source.eventHubs.hub: a line end"):
        read_spec(FileSpec, {"spec": spec})


@pytest.mark.parametrize("text", CONTROL)
def test_a_secret_with_a_control_character_is_refused_and_not_shown(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(text, encoding="utf-8", newline="")
    vault = Vault({"KEY": text}, tmp_path)
    for secret in (Secret(env="KEY"), Secret(file="key")):
        with pytest.raises(SettingsError, match="store it in one line") as told:
            vault.fetch(secret, "spec.ledger.accountKey")
        assert text not in str(told.value)
    # What goes wrong later may say it.
    assert vault.fetched[0] == text and len(vault.fetched) == 2


def test_a_file_whose_name_no_system_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        Vault({}, tmp_path).fetch(Secret(file="a\0b"), "spec.ledger.accountKey")


NO_NAMES = [*CONTROL, "", ".", "..", "...", " ", " a", "a ", "a/b", "a\\b", "../a", "x" * 254]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_member_and_a_group_have_names_that_a_path_and_a_line_of_the_log_can_hold(
    name: str,
) -> None:
    with pytest.raises(SettingsError, match=r"write (a name without|at most 253)"):
        MemberSettings(name).checked()
    for host, hub, who in ((name, "h", "g"), ("n", name, "g"), ("n", "h", name)):
        with pytest.raises(SettingsError, match=r"write (a name without|at most 253)"):
            GroupNames(host, hub, who)


@pytest.mark.parametrize("name", ["pod-7", "home 1", "häuser", "$Default", "a.b_c~d", "x" * 253])
def test_a_name_that_people_give_is_taken(name: str) -> None:
    assert MemberSettings(name).checked().name == name
    assert GroupNames("n:5671", name, name)


@pytest.mark.parametrize("text", [*CONTROL, "a b"])
def test_a_url_with_a_control_character_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(SettingsError, match="take it out") as told:
        split_url(f"https://{text}.blob.core.windows.net", "account_url")
    assert "blob.core" not in str(told.value)
