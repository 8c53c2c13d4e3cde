"""The group files that commands of `tidegate up` name: written of whatever is given, and nowhere
else than in their folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tidegate.settings import SettingsError
from tidegate_operator.local.commands import write_group_files
from tidegate_operator.local.given import Given, read
from tidegate_operator.local.state import State

GROUP = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home, namespace: NAMESPACE}
spec:
  source: {eventHubs: {hub: telemetry, connectionString: {secret: s, key: events}}}
  ledger: {container: ledger, connectionString: {secret: s, key: storage}}
  handler: {code: "handler.py:handle", configMap: code}
"""
CODE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: code}
data: DATA
"""


def given(tmp_path: Path, *texts: str) -> Given:
    path = tmp_path / "given.yaml"
    path.write_text("---\n".join(texts), encoding="utf-8")
    return read([path], {})


def written(tmp_path: Path, *texts: str) -> Path:
    state = State(tmp_path / "state")
    documents = given(tmp_path, *texts).documents({"events": "hub", "storage": "store"})
    write_group_files(state, documents)
    return state.groups / "default" / "home"


GROUP_OF_DEFAULT = GROUP.replace("NAMESPACE", "default")


def test_a_group_file_stands_beside_its_secrets_and_its_code(tmp_path: Path) -> None:
    folder = written(tmp_path, CODE.replace("DATA", "{handler.py: 'pass'}"), GROUP_OF_DEFAULT)
    spec = yaml.safe_load((folder / "group.yaml").read_text())["spec"]
    file = spec["source"]["eventHubs"]["connectionString"]["file"]
    assert (folder / file).read_text() == "hub"
    assert (folder / "handler.py").read_text() == "pass"


def test_a_config_map_that_is_not_given_is_no_reason_to_end(tmp_path: Path) -> None:
    """The operator says so, as in a cluster; positions can be looked at meanwhile."""
    assert (written(tmp_path, GROUP_OF_DEFAULT) / "group.yaml").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{../../outside.py: 'pass'}", "data: '../../outside.py' is no name of a key"),
        ("{handler.py: 5}", "data.handler.py is no text"),
        ("[handler.py]", "data has no keys"),
    ],
)
def test_a_config_map_that_no_cluster_would_take_is_refused_where_it_stands(
    tmp_path: Path, data: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said.replace(".", r"\.")):
        written(tmp_path, CODE.replace("DATA", data), GROUP_OF_DEFAULT)


@pytest.mark.parametrize("namespace", ["../..", "a/b", "Upper", "5", "x" * 64])
def test_a_namespace_that_no_cluster_has_is_refused(tmp_path: Path, namespace: str) -> None:
    with pytest.raises(SettingsError, match=r"metadata\.namespace"):
        given(tmp_path, GROUP.replace("NAMESPACE", namespace))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    group = GROUP_OF_DEFAULT.replace("name: home", "name: 5")
    with pytest.raises(SettingsError, match=r"metadata\.name"):
        given(tmp_path, group)
    with pytest.raises(SettingsError, match=r"metadata\.name"):
        given(tmp_path, CODE.replace("DATA", "{a: b}").replace("name: code", "name: 5"), group)


def test_group_files_that_cannot_be_written_are_told_and_end_nothing(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    state.folder.mkdir()
    state.groups.write_text("in the way", encoding="utf-8")
    documents = given(tmp_path, GROUP_OF_DEFAULT).documents({"events": "hub", "storage": "store"})
    # `tidegate up` reports this of a file that was saved, and continues.
    with pytest.raises(SettingsError, match="the group file of 'home' cannot be written: "):
        write_group_files(state, documents)
