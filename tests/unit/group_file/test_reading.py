"""A group file as typed settings, and what is said of one that cannot work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.delivery.policy import OnFailure
from tidegate.group_file.names import camel_name
from tidegate.group_file.nodes import FileError
from tidegate.group_file.pages import page
from tidegate.group_file.reading import read_group
from tidegate.group_file.secrets import Vault
from tidegate.group_file.spec import Secret, TransportKind
from tidegate.model import Position
from tidegate.settings import SettingsError
from tidegate.words import snake_name

ROOT = Path(__file__).resolve().parents[3]

HEAD = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata:
  name: home-activity
spec:
"""
SOURCE = """\
  source:
    eventHubs:
      hub: telemetry
      connectionString: {env: EVENTS}
"""
REST = """\
  ledger:
    container: ledger
    connectionString: {file: storage.txt}
  handler:
    code: handler.py:handle
"""
LEAST = HEAD + SOURCE + REST


def problem(text: str) -> str:
    with pytest.raises(FileError) as raised:
        read_group(text, "group.yaml")
    return str(raised.value)


def test_the_least_that_has_to_be_written() -> None:
    group = read_group(LEAST, "group.yaml")
    hub = group.spec.source.hubs
    assert group.name == "home-activity"
    assert (hub.hub, hub.consumer_group, hub.transport) == (
        "telemetry",
        "$Default",
        TransportKind.NATIVE,
    )
    assert hub.connection_string == Secret(env="EVENTS")
    assert hub.start.kind == "latest"
    assert group.spec.ledger.connection_string == Secret(file="storage.txt")
    assert group.spec.delivery.on_failure is OnFailure.RETRY


def test_code_is_asked_for_only_where_it_is_to_run() -> None:
    text = LEAST.replace("  handler:\n    code: handler.py:handle\n", "")
    assert "handler" not in text
    assert problem(text) == "group.yaml:6: spec.handler is missing: What is done with the events."
    assert read_group(text, "group.yaml", runs_code=False).name == "home-activity"
    with pytest.raises(FileError, match=r"spec\.handler has no 'cod': did you mean 'code'"):
        read_group(f"{text}  handler: {{cod: x}}\n", "group.yaml", runs_code=False)


def test_everything_that_delivery_offers() -> None:
    group = read_group(
        LEAST
        + """\
  delivery:
    onFailure: deadLetter
    attempts: 3
    timeoutSeconds: 12.5
    batch: {maxEvents: 50, maxBytes: 100_000, maxWaitSeconds: 1}
    checkpoint: {everySeconds: 2, everyEvents: 1000}
    backoff: {firstSeconds: 1, mostSeconds: 8}
    maxStateBytes: 1000
    deadLetters: {eventHub: {hub: poison}}
""",
        "group.yaml",
    )
    delivery = group.spec.delivery
    assert delivery.on_failure is OnFailure.DEAD_LETTER
    assert (delivery.attempts, delivery.timeout_s, delivery.max_state_bytes) == (3, 12.5, 1000)
    assert (delivery.batch.max_events, delivery.batch.max_bytes) == (50, 100_000)
    assert delivery.batch.max_wait_s == 1.0
    assert delivery.checkpoint.every_events == 1000
    assert delivery.dead_letters.event_hub is not None
    assert delivery.dead_letters.event_hub.hub == "poison"


def test_the_operators_keys_and_other_documents_are_passed_over() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\n---\n" + LEAST
    text += "  scaling: {max: 16}\n  engine: python\n  paused: false\n  template: {}\n"
    text = text.replace("  handler:\n", "    onDelete: Delete\n  handler:\n    configMap: code\n")
    assert read_group(text, "group.yaml").name == "home-activity"


@pytest.mark.parametrize(
    ("written", "kind", "at", "position"),
    [
        ("earliest", "earliest", None, None),
        ("{time: 1970-01-01T00:01:00Z}", "time", 60.0, None),
        ("{time: '1970-01-01T01:01:00+01:00'}", "time", 60.0, None),
        ("{sequenceNumber: 5}", "position", None, Position("-1", 5)),
        ("{offset: '4096', sequenceNumber: 5}", "position", None, Position("4096", 5)),
    ],
)
def test_a_start(written: str, kind: str, at: float | None, position: Position | None) -> None:
    group = read_group(HEAD + SOURCE + f"      start: {written}\n" + REST, "group.yaml")
    start = group.spec.source.hubs.start
    assert (start.kind, start.at, start.position) == (kind, at, position)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + SOURCE.replace("hub:", "hubb:") + REST,
         "group.yaml:8: spec.source.eventHubs has no 'hubb': did you mean 'hub'?"),
        (LEAST + "  delivary: {}\n",
         "group.yaml:15: spec has no 'delivary': did you mean 'delivery'"),
        (LEAST.replace("spec:", "spec:\n  zzz: 1"),
         "group.yaml:6: spec has no 'zzz': known: source"),
        (LEAST.replace("      hub: telemetry\n", ""),
         "group.yaml:8: spec.source.eventHubs.hub is missing: The event hub."),
        (LEAST.replace("hub: telemetry", "hub: 5"),
         "group.yaml:8: spec.source.eventHubs.hub: write a text, in quotes: not '5'"),
        (LEAST.replace("{env: EVENTS}", "Endpoint=sb://x"),
         "group.yaml:9: spec.source.eventHubs.connectionString has keys of its own"),
        (LEAST.replace("{env: EVENTS}", "{env: A, file: b}"),
         "group.yaml:9: spec.source.eventHubs.connectionString: write one of env: NAME, file"),
        (LEAST.replace("{env: EVENTS}", "{secret: hub}"),
         "group.yaml:9: spec.source.eventHubs.connectionString: secret: NAME and key: KEY go"),
        (LEAST.replace("      connectionString: {env: EVENTS}\n", ""),
         "group.yaml:8: spec.source.eventHubs: write either connectionString or namespace"),
        (LEAST + "  delivery: {attempts: many}\n",
         "group.yaml:15: spec.delivery.attempts: write a whole number, not 'many'"),
        (LEAST + "  delivery: {attempts: 1.5}\n",
         "group.yaml:15: spec.delivery.attempts: write a whole number, not '1.5'"),
        (LEAST + "  delivery: {timeoutSeconds: 0}\n",
         "group.yaml:15: spec.delivery: timeoutSeconds 0: write a number above 0"),
        (LEAST + "  delivery: {checkpoint: {everyEvents: 0}}\n",
         "group.yaml:15: spec.delivery: checkpoint.everyEvents 0: write a number above 0"),
        (LEAST + "  delivery: {onFailure: drop}\n",
         "group.yaml:15: spec.delivery.onFailure: write one of retry, deadLetter, halt, not"),
        (LEAST.replace("container: ledger", "container: ledger\n    create: maybe"),
         "group.yaml:12: spec.ledger.create: write true or false, not 'maybe'"),
        (HEAD + SOURCE + "      start: {time: 2026-01-31 00:00:00}\n" + REST,
         "group.yaml:10: spec.source.eventHubs.start.time: write a time with its zone"),
        (HEAD + SOURCE + "      start: newest\n" + REST,
         "group.yaml:10: spec.source.eventHubs.start: write latest, earliest"),
        (HEAD + "  source: {cosmos: {}}\n" + REST,
         "group.yaml:6: spec.source.cosmos.database is missing"),
        (HEAD + "  source: {}\n" + REST, "group.yaml:6: spec.source: write one source"),
        (HEAD + "  source: {cosmos: {database: d, container: c, endpoint: e, pollSeconds: 0}}\n"
         + REST, "group.yaml:6: spec.source.cosmos: pollSeconds must be above 0"),
        (HEAD + "  source: {cosmos: {database: d, container: c, endpoint: 'https://a', mode: "
         "allVersionsAndDeletes}}\n  ledger: {cosmos: {database: d, container: l, "
         "endpoint: 'https://a', dialect: javaEpk}}\n  handler: {code: a:b}\n",
         "ledger.cosmos.dialect goes with mode latestVersion"),
        (LEAST.replace("home-activity", "''"), "metadata.name is missing"),
        (LEAST + "  handler: {code: other}\n", "group.yaml:15: 'handler' is there twice"),
        ("a: [", "group.yaml:1: this is no YAML"),
        ("kind: ConsumerGroup\n", "it has 0 documents with apiVersion tidegate.dev/v1alpha1"),
        (LEAST.replace("kind: ConsumerGroup", "kind: ConsumerGrup"),
         "it is to have one. It has apiVersion 'tidegate.dev/v1alpha1' with kind 'ConsumerGrup'"),
        (LEAST + "---\n" + LEAST, "it has 2 documents"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line_and_what_to_write(text: str, said: str) -> None:
    assert said in problem(text)


@pytest.mark.parametrize(
    ("name", "written"),
    [("every_s", "everySeconds"), ("max_bytes", "maxBytes"), ("hub", "hub"), ("ca_file", "caFile")],
)
def test_our_names_and_the_files_are_one_mapping_both_ways(name: str, written: str) -> None:
    assert camel_name(name) == written
    assert snake_name(written) == name


def test_the_page_of_settings_is_what_the_code_says() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert written == page() + "\n", "run: python -m tidegate.group_file.pages > docs/settings.md"


def test_every_key_of_the_page_goes_back_to_our_names() -> None:
    keys = {line.split("`")[1] for line in page().splitlines() if line.startswith("| `")}
    assert len(keys) > 40
    assert {camel_name(snake_name(key)) for key in keys} == keys


def test_secrets_come_from_the_environment_or_a_file_and_are_remembered(tmp_path: Path) -> None:
    (tmp_path / "storage.txt").write_text("of a file\n", encoding="utf-8")
    vault = Vault({"EVENTS": "of the environment"}, tmp_path)
    assert vault.fetch(Secret(env="EVENTS"), "the hub") == "of the environment"
    assert vault.fetch(Secret(file="storage.txt"), "the ledger") == "of a file"
    assert vault.fetch(None, "nothing") == ""
    assert vault.fetched == ["of the environment", "of a file"]


def test_a_secret_of_kubernetes_is_left_to_the_operator(tmp_path: Path) -> None:
    vault = Vault({}, tmp_path)
    with pytest.raises(SettingsError, match="key: events} is for the operator, which mounts it"):
        vault.fetch(Secret(secret="hub", key="events"), "the hub")


def test_a_secret_that_is_not_there_is_said_by_its_place(tmp_path: Path) -> None:
    vault = Vault({"EMPTY": " "}, tmp_path)
    for secret, said in (
        (Secret(env="NONE"), "the hub: the environment variable NONE is not set, or is empty"),
        (Secret(env="EMPTY"), "the environment variable EMPTY is not set, or is empty"),
        (Secret(file="none.txt"), "none.txt cannot be read"),
    ):
        with pytest.raises(SettingsError, match=said):
            vault.fetch(secret, "the hub")
