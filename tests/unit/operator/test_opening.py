"""A group of which something is missing: its ledger is opened with what the ledger takes."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest

from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.model import LeaseState, Presence
from tidegate.ports import Announce, Join, WriteRoster
from tidegate_operator.engines.inputs import LEDGER
from tidegate_operator.kinds import CONFIG_MAP, SECRET, ObjectName
from tidegate_operator.model import GroupKey

EVENTS = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8="
STORAGE = (
    "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
    "BlobEndpoint=http://127.0.0.1:1/a"
)
PLACE = "127.0.0.1:1/a/ledger/ns.example.net/telemetry/$default/"
HUB, CODE = (
    ObjectName(kind, KEY.namespace, name) for kind, name in ((SECRET, "hub"), (CONFIG_MAP, "code"))
)


def put_secret(world: OperatedWorld, name: str, values: Mapping[str, str], **labels: str) -> None:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    there = ObjectName(SECRET, KEY.namespace, name)
    if there in world.kube.objects:
        world.kube.edit(there, {"metadata": {"labels": labels}, "data": data})
        return
    metadata = {"namespace": KEY.namespace, "name": name, "labels": labels}
    world.kube.put({"apiVersion": "v1", "kind": SECRET.name, "metadata": metadata, "data": data})


@pytest.fixture
def world() -> OperatedWorld:
    """A group that stands, with each thing that it needs in an object of its own."""
    world = OperatedWorld()
    put_secret(world, "hub", {"events": EVENTS})
    put_secret(world, "store", {"storage": STORAGE})
    metadata = {"namespace": KEY.namespace, "name": "code"}
    data = {"handler.py": "def handle(events): ..."}
    world.kube.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    hub = {"hub": "telemetry", "connectionString": {"secret": "hub", "key": "events"}}
    storage = {"secret": "store", "key": "storage"}
    world.create(
        source={"eventHubs": hub},
        ledger={"container": "ledger", "connectionString": storage},
        handler={"code": "handler.py:handle", "configMap": "code"},
        scaling={"min": 2, "max": 4},
    )
    for _ in range(5):
        world.round()
    assert world.deployment is not None and world.ledger.is_open
    return world


def begin_anew(world: OperatedWorld) -> None:
    """Another operator process."""
    world.ledger.is_open = False
    world.start()


def expect_that_the_ledger_is_looked_after(world: OperatedWorld) -> None:
    """A member joins; the operator that has begun touches the roster."""
    memory = world.ledger.memory
    memory.perform_at(Join("m0", "lease"), world.now)
    memory.perform_at(Announce(Presence("m0", "", LeaseState.LEASED, "life"), "lease"), world.now)
    world.round()
    assert world.ledger.is_open
    assert [type(each) for each in world.ledger.performed] == [WriteRoster]


@pytest.mark.parametrize(
    ("missing", "reason"), [(CODE, "ConfigMapMissing"), (HUB, "SecretMissing")]
)
def test_what_the_ledger_does_not_need_does_not_keep_it_closed_after_a_restart(
    world: OperatedWorld, missing: ObjectName, reason: str
) -> None:
    before = world.deployment
    there = world.kube.objects[missing]
    world.kube.take(missing)
    begin_anew(world)
    expect_that_the_ledger_is_looked_after(world)
    assert world.condition("Ready")[1] == reason
    assert world.deployment == before
    world.kube.put(there)
    world.round(after_s=40.0)
    assert world.condition("Ready")[1] != reason and world.notes.setup is not None
    assert world.deployment == before


def test_where_the_hub_is_is_believed_of_the_groups_own_ledger_alone(world: OperatedWorld) -> None:
    assert world.deployment is not None
    assert world.deployment["metadata"]["annotations"][LEDGER] == PLACE
    elsewhere = PLACE.replace("127.0.0.1", "storage.example.net")
    for other in (elsewhere, PLACE.replace("telemetry", "alarms"), "nonsense", "", "/"):
        deployment = world.deployment
        deployment["metadata"]["annotations"][LEDGER] = other
        world.kube.put(deployment)
        if HUB in world.kube.objects:
            world.kube.take(HUB)
        begin_anew(world)
        world.round()
        assert not world.ledger.is_open
        assert world.condition("Ready")[1] == "SecretMissing"


def test_a_ledger_whose_own_secret_is_missing_stays_closed_and_nothing_is_changed(
    world: OperatedWorld,
) -> None:
    before = world.deployment
    world.kube.take(ObjectName(SECRET, KEY.namespace, "store"))
    begin_anew(world)
    for _ in range(3):
        world.round()
    assert not world.ledger.is_open and world.deployment == before
    assert world.condition("Ready")[1] == "SecretMissing"


def test_the_secret_of_a_hub_for_dead_letters_keeps_the_ledger_open(world: OperatedWorld) -> None:
    letters = {"hub": "letters", "connectionString": {"secret": "none", "key": "events"}}
    delivery = {"onFailure": "deadLetter", "deadLetters": {"eventHub": letters}}
    world.kube.edit(NAME, {"spec": {"delivery": delivery}})
    begin_anew(world)
    expect_that_the_ledger_is_looked_after(world)
    assert world.condition("Ready")[1] == "SecretMissing"


def test_a_label_of_a_secret_rolls_nothing_and_a_key_that_is_used_does(
    world: OperatedWorld,
) -> None:
    before = world.deployment
    put_secret(world, "store", {"storage": STORAGE, "other": "x"}, team="homes")
    world.round(after_s=60.0)
    assert world.deployment == before
    put_secret(world, "store", {"storage": STORAGE.replace("aGVsbG8=", "d29ybGQ=")})
    world.round(after_s=60.0)
    assert before is not None and world.deployment is not None
    old, new = (
        each["spec"]["template"]["metadata"]["annotations"]["tidegate.dev/secrets"]
        for each in (before, world.deployment)
    )
    assert old != new and "d29ybGQ" not in str(world.deployment)


def test_a_group_that_comes_while_the_first_ones_hub_is_not_known_gets_no_pods(
    world: OperatedWorld,
) -> None:
    first, second = world.group, GroupKey(KEY.namespace, "a-second")
    assert first is not None
    world.kube.take(HUB)
    begin_anew(world)
    world.kube.put(
        {**first, "metadata": {"namespace": second.namespace, "name": second.name}, "status": {}}
    )
    assert world.edges.claims.whose(world.cache, second, PLACE) == KEY
    world.round()
    assert world.condition("Ready")[1] == "SecretMissing" and world.ledger.is_open
