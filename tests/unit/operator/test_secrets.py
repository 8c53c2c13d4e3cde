"""Secrets are read by name, never shown, and read again when they have changed."""

from __future__ import annotations

import base64
import re
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tidegate.ops.secrets import HIDDEN
from tidegate.settings import SettingsError
from tidegate_operator.kinds import CONFIG_MAP, SECRET, Document, Kind
from tidegate_operator.kube_errors import Denied, KubeError, silence
from tidegate_operator.secrets import KnownSecrets, SecretReader, Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import OperatorSpec, read_spec, secrets_of

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
STORAGE = (
    "DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=c2VjcmV0LWtleS1vZi1hY2N0;"
    "BlobEndpoint=http://127.0.0.1:10000/acct"
)
EVENTS = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=root;SharedAccessKey=aGVsbG8td29ybGQ="


def spec_of(**more: Any) -> OperatorSpec:
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "home"},
        "spec": {
            "source": {
                "eventHubs": {
                    "hub": "telemetry",
                    "connectionString": {"secret": "azure", "key": "events"},
                }
            },
            "ledger": {
                "container": "ledger",
                "connectionString": {"secret": "azure", "key": "storage"},
            },
            "handler": {"code": "handler:handle"},
            **more,
        },
    }
    return read_spec(document)


class Cluster:
    """Secrets and ConfigMaps, and how often each was asked for."""

    def __init__(self) -> None:
        self.objects: dict[tuple[Kind, str], dict[str, str]] = {}
        self.versions: Counter[tuple[Kind, str]] = Counter()
        self.asked: Counter[str] = Counter()
        self.problem: KubeError | None = None
        self.now = 1000.0

    def put(self, kind: Kind, name: str, **data: str) -> None:
        self.objects[kind, name] = data
        self.versions[kind, name] += 1

    async def find(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document | None:
        self.asked["metadata" if metadata_only else "whole"] += 1
        if self.problem is not None:
            raise self.problem
        if namespace != "default" or (kind, name) not in self.objects:
            return None
        found: Document = {"metadata": {"resourceVersion": str(self.versions[kind, name])}}
        if not metadata_only:
            data = self.objects[kind, name]
            found["data"] = data if kind == CONFIG_MAP else {
                key: base64.b64encode(value.encode()).decode() for key, value in data.items()
            }  # fmt: skip
        return found


class Reading:
    def __init__(self) -> None:
        self.cluster = Cluster()
        self.hidden = KnownSecrets()
        self.salt = "uid-1"
        self.reader = SecretReader(self.cluster, SETTINGS, self.hidden, lambda: self.cluster.now)

    async def look(self, after_s: float = 0.0, spec: OperatorSpec | None = None) -> Sight:
        self.cluster.now += after_s
        spec = spec or spec_of()
        return await self.reader.look(
            "default", secrets_of(spec), spec.handler.config_map, self.salt
        )


async def test_the_values_of_the_keys_that_are_named_open_a_group() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE, other="not ours")
    sight = await reading.look()
    assert not sight.failures and sight.hashes.keys() == {"azure"}
    assert set(sight.values) == {("azure", "events"), ("azure", "storage")}
    setup = sight.setup_of("home", spec_of())
    assert setup.blobs.account == "acct"
    assert (setup.names.host, setup.names.hub) == ("ns.example.net", "telemetry")


async def test_a_secret_that_was_read_can_never_be_logged_nor_shown() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE, token="plain-password")
    sight = await reading.look()
    line = f"it says c2VjcmV0LWtleS1vZi1hY2N0 and plain-password and {EVENTS}"
    hidden = reading.hidden.hide(line)
    assert "c2VjcmV0" not in hidden and "plain" not in hidden and "aGVsbG8" not in hidden
    assert hidden.startswith("it says") and HIDDEN in hidden
    for shown in (repr(sight), repr(sight.setup_of("home", spec_of()))):
        assert "c2VjcmV0" not in shown and "aGVsbG8" not in shown


async def test_a_secret_is_read_once_and_then_only_its_version_is_asked_for() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    for _ in range(20):
        await reading.look(after_s=5.0)
    assert reading.cluster.asked["whole"] == 1
    assert reading.cluster.asked["metadata"] == 3


async def test_a_rotated_secret_is_there_within_half_a_minute() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    before = await reading.look()
    reading.cluster.put(SECRET, "azure", events="Endpoint=sb://new/", storage=STORAGE)
    sight = await reading.look(after_s=SETTINGS.secrets_every_s)
    assert sight.values["azure", "events"] == "Endpoint=sb://new/"
    assert sight.hashes != before.hashes


async def test_only_what_the_group_uses_of_a_secret_is_in_its_hash() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    before = await reading.look()
    # A label was changed; then a key that the group does not use.
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    assert (await reading.look(after_s=60.0)).hashes == before.hashes
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE, other="new")
    assert (await reading.look(after_s=60.0)).hashes == before.hashes
    assert reading.cluster.asked["whole"] == 3
    swapped = {"events": STORAGE, "storage": EVENTS}
    reading.cluster.put(SECRET, "azure", **swapped)
    assert (await reading.look(after_s=60.0)).hashes != before.hashes


async def test_a_hash_tells_nobody_which_other_group_has_the_same_secret() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    ours = (await reading.look()).hashes["azure"]
    reading.salt = "uid-of-another-group"
    theirs = (await reading.look()).hashes["azure"]
    assert ours != theirs
    assert re.fullmatch("[0-9a-f]{16}", ours) and re.fullmatch("[0-9a-f]{16}", theirs)


async def test_a_clock_that_is_set_back_does_not_keep_a_rotated_secret_away() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    before = await reading.look()
    reading.cluster.put(SECRET, "azure", events="Endpoint=sb://new/", storage=STORAGE)
    sight = await reading.look(after_s=-3600.0)
    assert sight.hashes != before.hashes


async def test_a_missing_secret_says_what_to_do_and_is_found_soon() -> None:
    reading = Reading()
    (failure,) = (await reading.look()).failures
    assert failure.reason == "SecretMissing"
    assert "Secret 'azure'" in failure.message and "namespace 'default'" in failure.message
    assert "Create it" in failure.message
    (later,) = (await reading.look(after_s=60.0)).failures
    assert later.since == failure.since
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    assert not (await reading.look(after_s=SETTINGS.missing_every_s)).failures


async def test_a_missing_key_says_which_keys_there_are_and_no_value() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, blobs=STORAGE)
    (failure,) = (await reading.look()).failures
    assert failure.reason == "SecretKeyMissing"
    assert "no key 'storage'; it has: blobs, events" in failure.message
    assert "AccountKey" not in failure.message


async def test_what_was_read_is_good_while_the_api_does_not_answer() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    await reading.look()
    reading.cluster.problem = silence("read Secret default/azure", "connection refused")
    sight = await reading.look(after_s=300.0)
    assert not sight.failures and sight.values["azure", "storage"] == STORAGE


async def test_a_secret_that_may_not_be_read_says_which_right_is_missing() -> None:
    reading = Reading()
    reading.cluster.problem = Denied("read Secret default/azure: it may not get secrets")
    (failure,) = (await reading.look()).failures
    assert failure.reason == "Denied" and "may not get secrets" in failure.message


async def test_a_change_of_the_handlers_files_is_another_hash() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    spec = spec_of(handler={"code": "handler.py:handle", "configMap": "code"})
    (failure,) = (await reading.look(spec=spec)).failures
    assert failure.reason == "ConfigMapMissing"
    reading.cluster.put(CONFIG_MAP, "code", **{"handler.py": "def handle(events): ..."})
    first = await reading.look(10.0, spec)
    reading.cluster.put(CONFIG_MAP, "code", **{"handler.py": "def handle(events): ..."})
    same = await reading.look(60.0, spec)
    reading.cluster.put(CONFIG_MAP, "code", **{"handler.py": "def handle(events): pass"})
    other = await reading.look(60.0, spec)
    assert not first.failures and first.handler_hash == same.handler_hash != other.handler_hash


async def test_what_no_group_names_is_forgotten() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    await reading.look()
    reading.reader.keep_only(frozenset())
    await reading.look()
    assert reading.cluster.asked["whole"] == 2


async def test_a_value_that_was_replaced_is_hidden_until_it_is_replaced_again() -> None:
    reading = Reading()
    first, second, third = (f"Endpoint=sb://{word}/;SharedAccessKey={word}" for word in "abc")
    named = frozenset({(SECRET, "default", "azure")})
    for value in (first, second, third):
        reading.cluster.put(SECRET, "azure", events=value, storage=STORAGE)
        await reading.look(after_s=60.0)
        reading.reader.keep_only(named)
    assert reading.hidden.hide(third) == reading.hidden.hide(second) == HIDDEN
    assert reading.hidden.hide(first) != HIDDEN


def test_thousands_of_secrets_are_learnt_and_looked_for_at_no_cost_to_speak_of() -> None:
    hidden = KnownSecrets()
    secrets = [f"Endpoint=sb://ns{n}.example.net/;SharedAccessKey={n:044}" for n in range(3000)]
    began = time.process_time()
    for secret in secrets:
        hidden.learn(secret)
    said = [hidden.hide(f"it was {secret} that failed") for secret in secrets]
    assert time.process_time() - began < 5.0
    assert set(said) == {f"it was {HIDDEN} that failed"}


async def test_a_secret_of_the_environment_is_refused_in_words() -> None:
    reading = Reading()
    reading.cluster.put(SECRET, "azure", events=EVENTS, storage=STORAGE)
    spec = spec_of()
    secret = spec.ledger.connection_string
    assert secret is not None
    elsewhere = replace(secret, secret=None, key=None, env="STORAGE")
    spec = replace(spec, ledger=replace(spec.ledger, connection_string=elsewhere))
    sight = await reading.look(spec=spec)
    with pytest.raises(SettingsError, match="cannot look into pods"):
        sight.setup_of("home", spec)
