"""What `tidegate up` makes of its files: the same as kubectl, or an error that says where."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from support.tree import ROOT
from tidegate.settings import SettingsError
from tidegate_operator.kinds import Document
from tidegate_operator.local.given import HANDLER_HASH, Given, read
from tidegate_operator.local.places import PARTITION_KEY

OURS = {"events": "the-hub", "storage": "the-storage"}
SPEC = """\
  source: {eventHubs: {hub: telemetry, connectionString: EVENTS}}
  ledger: {container: ledger, connectionString: STORAGE}
  handler: {code: "pkg.handler:handle"}
"""
EMBEDDED = ("{secret: s, key: events}", "{secret: s, key: storage}")


def text(events: str = EMBEDDED[0], storage: str = EMBEDDED[1], more: str = "") -> str:
    spec = SPEC.replace("EVENTS", events).replace("STORAGE", storage) + more
    head = "apiVersion: tidegate.dev/v1alpha1\nkind: ConsumerGroup\nmetadata: {name: home}\nspec:\n"
    return head + spec


def given(tmp_path: Path, *texts: str, secrets: Path | None = None, **environment: str) -> Given:
    paths = []
    for number, each in enumerate(texts):
        path = tmp_path / f"{number}.yaml"
        path.write_text(each, encoding="utf-8")
        paths.append(path)
    return read(paths, environment, secrets)


def secrets_in(found: Given, ours: dict[str, str] | None = None) -> dict[tuple[str, str], str]:
    return {
        (each["metadata"]["name"], key): base64.b64decode(value).decode()
        for each in found.documents(ours or OURS)
        if each["kind"] == "Secret"
        for key, value in each["data"].items()
    }


def only(found: Given) -> Any:
    (document,) = found.groups
    return document


def test_the_example_of_twelve_lines_gets_a_hub_and_storage_of_ours() -> None:
    found = read([ROOT / "examples" / "consumergroup.yaml"], {})
    assert secrets_in(found) == {
        ("tidegate-embedded", "events"): "the-hub",
        ("tidegate-embedded", "storage"): "the-storage",
    }
    assert found.wanted.hubs == {"telemetry": {"$Default"}}
    assert only(found)["metadata"] == {"name": "home-activity", "namespace": "default"}


def test_every_example_for_a_cluster_is_taken_with_what_stands_beside_it() -> None:
    path = ROOT / "examples" / "cluster" / "handler-in-a-configmap.yaml"
    found = read([path], {})
    kinds = [each["kind"] for each in found.documents(OURS)]
    assert kinds == ["Secret", "ConfigMap", "ConsumerGroup"]
    assert only(found)["spec"]["handler"]["code"] == "count.py:handle", "it is in the ConfigMap"


def test_storage_of_ours_has_its_container_made(tmp_path: Path) -> None:
    assert only(given(tmp_path, text()))["spec"]["ledger"]["create"] is True
    real = given(tmp_path, text(storage="{env: STORAGE}"), STORAGE="real")
    assert "create" not in only(real)["spec"]["ledger"]


def test_a_secret_that_is_given_is_taken_wherever_it_stands(tmp_path: Path) -> None:
    document = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    as_text = given(tmp_path, text(), document + "stringData: {events: a, storage: b}")
    assert secrets_in(as_text) == {("s", "events"): "a", ("s", "storage"): "b"}
    assert not as_text.embedded
    data = f"data: {{events: {base64.b64encode(b'a').decode()}, storage: Yg==}}"
    assert secrets_in(given(tmp_path, document + data, text())) == secrets_in(as_text)
    folder = tmp_path / "secrets" / "s"
    folder.mkdir(parents=True)
    (folder / "events").write_text("a\n")
    (folder / "storage").write_text("b\n")
    assert secrets_in(given(tmp_path, text(), secrets=tmp_path / "secrets")) == secrets_in(as_text)


def test_environment_and_files_are_read_here_as_for_tidegate_run(tmp_path: Path) -> None:
    (tmp_path / "storage.txt").write_text("b\n")
    found = given(tmp_path, text("{env: EVENTS}", "{file: storage.txt}"), EVENTS="a")
    assert sorted(secrets_in(found).values()) == ["a", "b"]
    spec = only(found)["spec"]
    reference = spec["source"]["eventHubs"]["connectionString"]
    assert reference == {"secret": "from-environment", "key": "EVENTS"}
    assert tmp_path / "storage.txt" in found.files
    assert not found.embedded


def test_a_handler_beside_the_file_is_found_there_and_a_change_of_it_is_a_new_template(
    tmp_path: Path,
) -> None:
    handler = tmp_path / "count.py"
    handler.write_text("def handle(events, context): ...\n")
    written = text().replace("pkg.handler:handle", "count.py:handle")
    first = only(given(tmp_path, written))["spec"]
    assert first["handler"]["code"] == f"{handler}:handle"
    assert only(given(tmp_path, written))["spec"] == first
    handler.write_text("def handle(events, context): pass\n")
    assert only(given(tmp_path, written))["spec"]["template"] != first["template"]
    found = given(tmp_path, written)
    assert handler in found.files and tmp_path in found.search


def test_the_hubs_that_are_needed_are_named_once_with_all_their_consumer_groups(
    tmp_path: Path,
) -> None:
    other = (
        text()
        .replace("name: home", "name: alarms")
        .replace("hub: telemetry,", "hub: telemetry, consumerGroup: alarms,")
    )
    letters = "  delivery:\n    onFailure: deadLetter\n    deadLetters: {eventHub: {hub: letters, "
    third = text(more=f"{letters}connectionString: {EMBEDDED[0]}}}}}\n")
    found = given(tmp_path, other, third)
    assert found.wanted.hubs == {"telemetry": {"$Default", "alarms"}, "letters": {"$Default"}}


def test_the_containers_that_are_needed_are_named_with_their_partition_keys(
    tmp_path: Path,
) -> None:
    account = "connectionString: {secret: s, key: cosmos}"
    written = f"""\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {{name: orders, annotations: {{{PARTITION_KEY}: /customer}}}}
spec:
  source: {{cosmos: {{database: shop, container: orders, {account}}}}}
  ledger: {{cosmos: {{database: shop, container: leases, {account}}}}}
  handler: {{code: "pkg.handler:handle"}}
  delivery:
    onFailure: deadLetter
    deadLetters: {{cosmos: {{database: shop, container: poison}}}}
"""
    found = given(tmp_path, written)
    assert found.wanted.containers == {
        "shop/orders": ("/customer", True),
        "shop/leases": ("/id", False),
        "shop/poison": ("/partition", False),
    }
    assert secrets_in(found, {"cosmos": "the-account"}) == {("s", "cosmos"): "the-account"}


def test_what_needs_a_cluster_is_passed_over_and_said(tmp_path: Path) -> None:
    found = given(tmp_path, text() + "---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n")
    assert len(found.groups) == 1
    (note,) = found.notes
    assert note.endswith("Service needs a cluster: left out")


def test_a_pipeline_that_changes_rolls_out_its_driver(tmp_path: Path) -> None:
    said = text(more="  engine: spark\n  spark: {schema: a int}\n").replace("pkg.handler", "p.py")
    before = given_with_pipeline(tmp_path, said, "def pipeline(): ...")
    after = given_with_pipeline(tmp_path, said, "def pipeline(): pass")
    assert before != after
    assert before["metadata"]["annotations"].keys() == {HANDLER_HASH}


def given_with_pipeline(folder: Path, said: str, code: str) -> Any:
    (folder / "p.py").write_text(code)
    (group,) = given(folder, said).groups
    assert "template" not in group["spec"]
    return group["spec"]["spark"]["driver"]["template"]


WRONG: dict[str, tuple[str, str]] = {
    "a key that there is not, with its line": (
        text().replace("handler:", "handlr:"), r"0\.yaml:7: spec has no 'handlr': did you mean"),
    "no YAML at all": ("a: [", r"0\.yaml:1: this is no YAML"),
    "no group": ("apiVersion: v1\nkind: Secret\nmetadata: {name: x}", "no ConsumerGroup"),
    "two groups of one name": (text() + "---\n" + text(), "group 'home' is there twice"),
    "a name that cannot be": (text().replace("name: home", "name: Home"), "lower-case"),
    "a variable that is not set": (text("{env: NOT}"), "spec.source.eventHubs.connectionString: "
                                   "the environment variable NOT is not set"),
    "a file that is not there": (text("{file: not.txt}"), "not.txt cannot be read"),
    "a handler that is not there": (
        text().replace("pkg.handler", "not.py"), "spec.handler.code: there is no file .*/not.py"),
    "one key for two things": (text(storage=EMBEDDED[0]), "is that of a hub and of storage"),
    "a key of an account that nobody gives": (
        text().replace("connectionString: {secret: s, key: storage}",
                       "accountUrl: https://x.blob.core.windows.net, "
                       "accountKey: {secret: s, key: account}"),
        r"spec.ledger.accountKey: Secret 's' has no key 'account'.*--secrets DIR"),
    "a key that a given Secret lacks": (
        text() + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {events: a}",
        "Secret 's' has no key 'storage'; it has: events"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, what: str) -> None:
    written, words = WRONG[what]
    with pytest.raises(SettingsError, match=words):
        given(tmp_path, written)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: it cannot be read: No such file"):
        read([tmp_path / "none.yaml"], {})


def test_values_of_secrets_are_not_in_what_is_printed(tmp_path: Path) -> None:
    found = given(tmp_path, text("{env: EVENTS}"), EVENTS="hidden-value")
    assert "hidden-value" not in repr(found)
    documents: list[Document] = found.groups
    assert "hidden-value" not in repr(documents)
