"""Two ConsumerGroups that name one ledger: the second is told so, and nothing is made for it."""

from __future__ import annotations

from typing import Any

import pytest

from support.operated_world import KEY, NAME, OperatedWorld
from tidegate.commands.wiring import Setup
from tidegate_operator.cache import Cache
from tidegate_operator.claims import SHARED, Claims
from tidegate_operator.engines.inputs import GROUP_LABEL, LEDGER
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, ObjectName
from tidegate_operator.ledgers import place_of
from tidegate_operator.model import GroupKey
from tidegate_operator.secrets import Sight
from tidegate_operator.spec import read_spec

FIRST, COPY = GroupKey("homes", "activity"), GroupKey("homes", "activity-copy")
OTHER = GroupKey("homes", "a-third")
PLACE = "a.example.net/a/ledger/ns.example.net/telemetry/$default/"
ELSEWHERE = PLACE.replace("telemetry", "alarms")
EVENTS = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=YQ=="


def setup_of(
    key: str = "aGVsbG8=", consumer_group: str = "$Default", host: str = "127.0.0.1:1"
) -> Setup:
    """A group whose storage nobody serves."""
    spec = {
        "source": {
            "eventHubs": {
                "hub": "telemetry",
                "consumerGroup": consumer_group,
                "connectionString": {"secret": "s", "key": "events"},
            }
        },
        "ledger": {"container": "ledger", "connectionString": {"secret": "s", "key": "storage"}},
        "handler": {"code": "handler:handle"},
    }
    values = {
        ("s", "events"): EVENTS,
        ("s", "storage"): f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey={key};"
        f"BlobEndpoint=http://{host}/a",
    }
    document = {
        "apiVersion": "tidegate.dev/v1alpha1", "kind": "ConsumerGroup",
        "metadata": {"name": "home"}, "spec": spec,
    }  # fmt: skip
    return Sight(values, {"s": "1"}, "", ()).setup_of("home", read_spec(document))


def put(
    cache: Cache, key: GroupKey, uid: str = "", created: str = "", pods_of: str | None = None
) -> None:
    """A group; `pods_of` is the ledger that its Deployment's pods were made for."""
    where = {"namespace": key.namespace, "name": key.name}
    metadata = {**where, "uid": uid or f"uid-{key.name}", "creationTimestamp": created}
    cache.hear(CONSUMER_GROUP, {"metadata": metadata}, is_gone=False)
    if pods_of is not None:
        labelled: dict[str, Any] = {**where, "labels": {GROUP_LABEL: key.name}}
        labelled["annotations"] = {LEDGER: pods_of}
        deployment = {"metadata": labelled, "spec": {}, "status": {}}
        cache.hear(DEPLOYMENT, deployment, is_gone=False)


@pytest.fixture
def cache() -> Cache:
    cache = Cache()
    put(cache, FIRST, created="2026-01-02T00:00:00Z")
    put(cache, COPY, created="2026-01-01T00:00:00Z")
    return cache


def test_other_credentials_are_the_same_ledger_and_another_consumer_group_another() -> None:
    here = place_of(setup_of())
    assert place_of(setup_of(key="d29ybGQ=")) == here
    assert place_of(setup_of(host="Storage.example.net:80")) == place_of(
        setup_of(host="storage.example.net")
    )
    assert place_of(setup_of(consumer_group="alarms")) != here != place_of(setup_of(host="other"))


def test_who_came_first_keeps_the_ledger_until_it_has_gone_or_has_another(cache: Cache) -> None:
    claims = Claims()
    assert claims.whose(cache, FIRST, PLACE) == FIRST
    assert claims.whose(cache, COPY, PLACE) == FIRST
    assert claims.whose(cache, FIRST, PLACE) == FIRST
    assert claims.whose(cache, FIRST, ELSEWHERE) == FIRST
    assert claims.whose(cache, COPY, PLACE) == COPY
    assert claims.whose(cache, FIRST, PLACE) == COPY
    gone = cache.known(COPY).document
    assert gone is not None
    cache.hear(CONSUMER_GROUP, gone, is_gone=True)
    assert claims.whose(cache, FIRST, PLACE) == FIRST


def test_a_group_that_was_made_anew_under_its_name_is_another_one(cache: Cache) -> None:
    claims = Claims()
    assert claims.whose(cache, FIRST, PLACE) == FIRST
    put(cache, FIRST, uid="uid-of-the-next")
    assert claims.whose(cache, COPY, PLACE) == COPY
    assert claims.whose(cache, FIRST, PLACE) == COPY


def test_an_operator_that_begins_leaves_the_ledger_to_the_group_whose_pods_read(
    cache: Cache,
) -> None:
    put(cache, FIRST, created="2026-01-02T00:00:00Z", pods_of=PLACE)
    # The other one is older, and is looked at before the one whose pods there are.
    claims = Claims()
    assert claims.whose(cache, COPY, PLACE) == FIRST
    assert claims.whose(cache, FIRST, PLACE) == FIRST
    assert claims.whose(cache, COPY, ELSEWHERE) == COPY


def test_of_two_that_have_pods_the_older_one_has_the_ledger(cache: Cache) -> None:
    for key in (FIRST, COPY, OTHER):
        put(cache, key, created=f"2026-01-0{1 + len(key.name) % 7}T00:00:00Z", pods_of=PLACE)
    oldest = min((FIRST, COPY, OTHER), key=lambda key: len(key.name) % 7)
    for asks in (FIRST, COPY, OTHER):
        assert Claims().whose(cache, asks, PLACE) == oldest


def test_pods_that_were_made_for_a_ledger_that_the_group_has_left_claim_nothing(
    cache: Cache,
) -> None:
    put(cache, FIRST, pods_of=PLACE)
    claims = Claims()
    assert claims.whose(cache, FIRST, ELSEWHERE) == FIRST
    assert claims.whose(cache, COPY, PLACE) == COPY


# --- in rounds


def other_group(world: OperatedWorld, created: str) -> ObjectName:
    """A ConsumerGroup of the same spec, with its Deployment."""
    name = ObjectName(CONSUMER_GROUP, KEY.namespace, "older")
    assert world.group is not None
    metadata = {"namespace": name.namespace, "name": name.name, "creationTimestamp": created}
    world.kube.put({**world.group, "metadata": metadata})
    return name


def taken_by_another(world: OperatedWorld) -> ObjectName:
    """Another group has the ledger before this one is looked at."""
    name = other_group(world, "2026-01-01T00:00:00Z")
    place = "127.0.0.1:1/a/ledger/ns.example.net/telemetry/$default/"
    key = GroupKey(name.namespace, name.name)
    assert world.edges.claims.whose(world.cache, key, place) == key
    return name


def test_no_pods_are_made_for_the_second_group_of_a_ledger_and_it_is_told_why(
    world: OperatedWorld,
) -> None:
    taken_by_another(world)
    for _ in range(3):
        world.round()
        assert world.deployment is None and not world.ledger.performed
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", SHARED)
    assert f"{KEY.namespace}/older" in message and "Delete one of the two" in message
    kinds = {name.kind.name for name in world.kube.objects}
    assert kinds - {"Event"} == {"ConsumerGroup", "Secret"}


def test_when_the_first_has_gone_the_second_gets_its_pods(world: OperatedWorld) -> None:
    name = taken_by_another(world)
    world.round()
    assert world.deployment is None
    world.kube.take(name)
    world.round()
    assert world.condition("Ready")[1] != SHARED
    assert world.deployment is not None


def test_what_a_second_group_has_already_is_neither_changed_nor_scaled(
    world: OperatedWorld,
) -> None:
    for _ in range(5):
        world.round()
    before = world.deployment
    assert before is not None
    del before["metadata"]["annotations"][LEDGER]  # as an operator made it that said nothing
    world.kube.put(before)
    world.start()
    taken_by_another(world)
    world.kube.edit(NAME, {"spec": {"replicas": 4, "handler": {"code": "other:handle"}}})
    before = world.deployment
    for _ in range(5):
        world.round(after_s=30.0)
    assert world.condition("Ready")[1] == SHARED
    assert world.deployment == before and not world.ledger.performed


def test_a_second_group_that_is_deleted_takes_nothing_with_it(world: OperatedWorld) -> None:
    taken_by_another(world)
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Delete"}}})
    world.round()
    assert world.group is not None and not world.group["metadata"].get("finalizers")
    world.delete()
    assert world.round().is_over and world.ledger.erased == 0
