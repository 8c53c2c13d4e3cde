"""What a consumer finds in its folder is what it would have found in its pod."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest
import yaml

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.engines import RenderInput, SecretMount, engine_of
from tidegate_operator.kinds import CONFIG_MAP, SECRET, Document, ObjectName
from tidegate_operator.local.deployments import pod_document
from tidegate_operator.local.pod_room import Place, Room, RoomError, leave_room, room_of
from tidegate_operator.model import GroupKey
from tidegate_operator.spec_group_file import secret_file

KEY = GroupKey("homes", "activity")
GROUP_YAML = yaml.safe_dump(
    {
        "spec": {
            "source": {"connectionString": {"file": secret_file("azure", "events")}},
            "handler": {"code": "count.py:handle"},
        }
    }
)


class Objects:
    def __init__(self) -> None:
        self.there = {
            ObjectName(CONFIG_MAP, "homes", "activity-group"): {"data": {"group.yaml": GROUP_YAML}},
            ObjectName(CONFIG_MAP, "homes", "code"): {
                "data": {"count.py": "def handle(): ...", "group.yaml": "not this one"}
            },
            ObjectName(SECRET, "homes", "azure"): {
                "data": {
                    "events": base64.b64encode(b"the-secret").decode(),
                    "other": base64.b64encode(b"not wanted").decode(),
                }
            },
        }

    def find(self, name: ObjectName) -> Document | None:
        return self.there.get(name)


def pod(**template: object) -> Document:
    wanted = RenderInput(
        KEY, "uid", GROUP_YAML, "image",
        secrets=(SecretMount("azure", frozenset({"events"}), "1"),),
        handler_config_map="code", template=template,
    )  # fmt: skip
    deployment = engine_of(EngineKind.PYTHON).manifests(wanted)[-1]
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "activity-1", "namespace": "homes", "uid": "u"},
        "spec": {"template": deployment["spec"]["template"]},
    }
    found = pod_document(replica_set, "activity-1-x", "here")
    found["metadata"]["uid"] = "pod-uid"
    return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "pods", tmp_path / "logs", (tmp_path / "beside",))


def room(place: Place, objects: Objects | None = None, **template: object) -> Room:
    environment = {"PATH": "/bin", "TIDEGATE_WEIGHT": "7", "PYTHONPATH": "/theirs"}
    return room_of(pod(**template), place, (objects or Objects()).find, environment)


def test_the_group_file_names_the_files_of_this_machine(place: Place) -> None:
    made = room(place)
    group_file = Path(made.arguments[0])
    document = yaml.safe_load(group_file.read_text())
    secret = Path(document["spec"]["source"]["connectionString"]["file"])
    assert secret.read_text() == "the-secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert not (secret.parent / "other").exists(), "only the keys that the group uses"
    assert (group_file.parent / "count.py").read_text() == "def handle(): ..."
    assert document["spec"]["handler"] == {"code": "count.py:handle"}


def test_the_consumer_is_told_who_it_is_and_where_its_scratch_is(place: Place) -> None:
    made = room(place)
    assert made.variables["TIDEGATE_MEMBER"] == "activity-1-x"
    assert made.variables["TIDEGATE_POD_UID"] == "pod-uid"
    scratch = Path(made.variables["TIDEGATE_SCRATCH"])
    assert scratch.parent.is_dir() and made.folder in scratch.parents
    assert Path(made.variables["TIDEGATE_LAST_WORDS"]).is_file()
    assert made.variables["PATH"] == "/bin"
    assert "TIDEGATE_WEIGHT" not in made.variables, "a pod has none of the machine's"
    assert made.variables["PYTHONPATH"] == f"{place.search[0]}:/theirs"


def test_it_listens_on_loopback_at_a_port_of_its_own(place: Place) -> None:
    words = room(place).command(1234)
    assert words[words.index("--listen") + 1] == "127.0.0.1:1234"
    assert words[1:4] == ["-m", "tidegate", "run"]
    assert words[words.index("--grace-s") + 1] == "335"


def test_variables_of_the_template_come_from_where_they_say(place: Place) -> None:
    env = [
        {"name": "PLAIN", "value": "1"},
        {"name": "OF_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "HIDDEN", "valueFrom": {"secretKeyRef": {"name": "azure", "key": "events"}}},
        {"name": "CODE", "valueFrom": {"configMapKeyRef": {"name": "code", "key": "count.py"}}},
    ]
    made = room(place, spec={"containers": [{"name": "consumer", "env": env}]})
    found = [made.variables[name] for name in ("PLAIN", "OF_POD", "HIDDEN", "CODE")]
    assert found == ["1", "homes", "the-secret", "def handle(): ..."]


def test_what_a_process_cannot_have_is_said(place: Place) -> None:
    assert room(place).left_out == ()
    mounts = [{"name": "models", "mountPath": "/models"}]
    containers = [{"name": "consumer", "volumeMounts": mounts}, {"name": "proxy", "image": "x"}]
    volumes = [{"name": "models", "emptyDir": {}}]
    said = room(place, spec={"containers": containers, "volumes": volumes}).left_out
    assert said == ("containers beside the consumer (proxy)", "volumes (/models)")


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [(CONFIG_MAP, "code", "ConfigMap 'code'"), (SECRET, "azure", "Secret 'azure'")],
)
def test_what_is_missing_is_named(place: Place, kind: object, name: str, words: str) -> None:
    objects = Objects()
    del objects.there[ObjectName(kind, "homes", name)]  # type: ignore[arg-type]
    with pytest.raises(RoomError, match=f"{words} is not there in namespace 'homes'"):
        room(place, objects)


def test_a_room_can_be_made_again_and_is_left_empty(place: Place) -> None:
    room(place)
    made = room(place)
    leave_room(made.folder)
    assert not made.folder.exists()
