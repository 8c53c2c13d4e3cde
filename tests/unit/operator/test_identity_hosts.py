"""The operator's own identity goes to hosts that were allowed; elsewhere it is not asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from support.operated_world import OperatedWorld
from support.tree import ROOT
from tidegate.commands.wiring import Setup
from tidegate.ledger.access import BlobSettings
from tidegate.settings import SettingsError
from tidegate_operator import accounts
from tidegate_operator.cli import parser, settings_of
from tidegate_operator.hubs import Hubs
from tidegate_operator.identity import (
    HUBS,
    STORAGE,
    IdentityHosts,
    IdentityRefusedError,
    check,
    hosts_of,
)
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import GroupKey
from tidegate_operator.secrets import Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import read_spec

HOME = GroupKey("homes", "activity")
REASON = IdentityRefusedError.reason
OURS = "https://homes.blob.core.windows.net"
THEIRS = "https://storage.attacker.example"


@pytest.mark.parametrize(
    "address",
    [
        "https://homes.blob.core.windows.net",
        "https://HOMES.Blob.Core.Windows.NET:443/",
        "https://homes.z01.blob.storage.azure.net",
        "homes.servicebus.windows.net",
        "homes.servicebus.usgovcloudapi.net:5671",
        "sb://homes.servicebus.chinacloudapi.cn/",
    ],
)
def test_whoever_uses_azure_has_nothing_to_set(address: str) -> None:
    check("here", address, HUBS if "servicebus" in address else STORAGE)


@pytest.mark.parametrize(
    "address",
    [
        "https://storage.attacker.example",
        "https://blob.core.windows.net",
        "https://homesblob.core.windows.net.attacker.example",
        "https://evil-blob.core.windows.net",
        "https://homes.blob.core.windows.net@attacker.example",
        "https://attacker.example@homes.blob.core.windows.net",
        r"https://attacker.example\.blob.core.windows.net",
        "https://attacker.example%2f.blob.core.windows.net",
        "https://attacker.example#.blob.core.windows.net",
        "https://attacker.example?.blob.core.windows.net",
        "https://attacker.example/.blob.core.windows.net",
        "https://homes.blob.core.windows.net.",
        "https://[::1].blob.core.windows.net",
        "https://[::1",
        "homes.servicebus.windows.net:5671:attacker.example",
        "attacker.example/sb://homes.servicebus.windows.net",
        "\u212aomes.servicebus.windows.net",
        "",
    ],
)
def test_nothing_that_only_looks_like_an_allowed_host_gets_a_token(address: str) -> None:
    with pytest.raises(IdentityRefusedError, match="no token was asked for"):
        check("spec.ledger.accountUrl", address, (*STORAGE, *HUBS))


def test_a_host_that_is_allowed_by_its_name_allows_no_other() -> None:
    ours = hosts_of("--o", "homes.blob.core.windows.net, 10.0.0.7")
    check("here", OURS, ours)
    check("here", "https://10.0.0.7:10000/homes", ours)
    for other in ("https://theirs.blob.core.windows.net", "https://a.homes.blob.core.windows.net"):
        with pytest.raises(IdentityRefusedError):
            check("here", other, ours)
    with pytest.raises(IdentityRefusedError):
        check("here", OURS, hosts_of("--o", ""))


@pytest.mark.parametrize("entry", [".", "*.windows.net", "https://a.net", "a..net", "a.net:443"])
def test_what_is_no_host_is_refused_on_the_command_line(entry: str) -> None:
    with pytest.raises(SettingsError, match="--identity-hub-hosts"):
        hosts_of("--identity-hub-hosts", f"a.net,{entry}")


def test_the_command_line_and_the_chart_say_the_same() -> None:
    words = ["run", "--all-namespaces", "--image", "x", "--leader-namespace", "t"]

    def hosts(*more: str) -> IdentityHosts:
        return settings_of(parser().parse_args([*words, *more]), {}).identity_hosts

    assert hosts() == IdentityHosts(STORAGE, HUBS)
    assert hosts("--identity-storage-hosts", "") == IdentityHosts((), HUBS)
    named = ("--identity-storage-hosts", "A.net", "--identity-hub-hosts", ".b.net, c.net")
    assert hosts(*named) == IdentityHosts(("a.net",), (".b.net", "c.net"))
    values = yaml.safe_load((ROOT / "charts/tidegate/values.yaml").read_text(encoding="utf-8"))
    said = values["identityHosts"]
    assert (tuple(said["storage"]), tuple(said["eventHubs"])) == (STORAGE, HUBS)


# --- at the ledger and at the hub


class Identity:
    """In the place of DefaultAzureCredential: whoever makes one is noted."""

    made = 0

    def __init__(self) -> None:
        Identity.made += 1

    async def get_token(self, *scopes: str, **_: Any) -> Any:
        raise AssertionError("a token was asked for")

    async def __aenter__(self) -> Identity:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def close(self) -> None: ...


@pytest.fixture(autouse=True)
def identity(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Identity]]:
    Identity.made = 0
    monkeypatch.setattr("azure.identity.aio.DefaultAzureCredential", Identity)
    yield Identity


def settings(hosts: IdentityHosts) -> OperatorSettings:
    return OperatorSettings(
        identity="a", leader_namespace="tidegate", image="x", identity_hosts=hosts
    )


def setup_of(source: dict[str, Any], **ledger: Any) -> Setup:
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": HOME.name},
        "spec": {
            "source": {"eventHubs": {"hub": "telemetry", **source}},
            "ledger": {"container": "ledger", **ledger},
            "handler": {"code": "handler:handle"},
        },
    }
    events = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=YQ=="
    values = {("s", "events"): events, ("s", "key"): "aGVsbG8="}
    return Sight(values, {"s": "1"}, "", ()).setup_of(HOME.name, read_spec(document))


NOWHERE = IdentityHosts((), ())
KEYED = {"connectionString": {"secret": "s", "key": "events"}}


@pytest.mark.parametrize("host", ["storage.attacker.example", "relay.servicebus.windows.net"])
async def test_a_ledger_at_a_host_that_is_not_allowed_gets_no_identity(host: str) -> None:
    """A relay below Event Hubs' names would hand the token for storage to its listener."""
    ledgers = Ledgers(settings(IdentityHosts()), lambda: 1.0, lambda: 0.5, lambda _: None)
    try:
        with pytest.raises(IdentityRefusedError, match=f"'{host}'"):
            ledgers.open(HOME, setup_of(KEYED, accountUrl=f"https://{host}"))
        assert Identity.made == 0 and await ledgers.look(HOME) == (None, None)
        ledgers.open(HOME, setup_of(KEYED, accountUrl=OURS))
        assert Identity.made == 1
    finally:
        await ledgers.close()


async def test_a_key_of_the_groups_own_goes_where_the_group_says() -> None:
    ledgers = Ledgers(settings(NOWHERE), lambda: 1.0, lambda: 0.5, lambda _: None)
    key = {"secret": "s", "key": "key"}
    try:
        ledgers.open(HOME, setup_of(KEYED, accountUrl=THEIRS, accountKey=key))
    finally:
        await ledgers.close()
    assert Identity.made == 0


@pytest.mark.parametrize("allowed", [NOWHERE, IdentityHosts()])
async def test_a_hub_at_a_host_that_is_not_allowed_is_not_asked(allowed: IdentityHosts) -> None:
    answered = asyncio.Event()
    hubs = Hubs(settings(allowed), lambda: 1.0, lambda _: answered.set())
    source = {"namespace": "homes.blob.core.windows.net"}
    setup = setup_of(source, accountUrl=OURS, accountKey={"secret": "s", "key": "key"})
    hubs.look(HOME, setup, is_anybody_alive=False)
    await asyncio.wait_for(answered.wait(), 10.0)
    ends, failure = hubs.look(HOME, setup, is_anybody_alive=False)
    await hubs.close()
    assert ends is None and failure is not None and failure.reason == REASON
    assert "spec.source.eventHubs.namespace" in failure.message and Identity.made == 0


# --- in rounds


def refusing(world: OperatedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger of this world is opened as a real one is, by what its group is let in with."""
    opened = accounts.Accounts(IdentityHosts())

    def open_it(key: GroupKey, at: Any) -> None:
        assert isinstance(at.ledger, BlobSettings)
        opened.client(at.ledger)
        world.ledger.is_open = True

    monkeypatch.setattr(world.ledger, "open", open_it)


def test_the_condition_says_what_was_refused_and_what_to_do_and_the_pods_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = OperatedWorld()
    refusing(world, monkeypatch)
    world.put_secret()
    world.create(ledger={"container": "ledger", "accountUrl": THEIRS})
    for _ in range(3):
        world.round()
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", REASON)
    assert "spec.ledger.accountUrl" in message and "'storage.attacker.example'" in message
    assert "identityHosts" in message and "give the group a key" in message
    assert world.deployment is not None and not world.ledger.performed and not world.ledger.is_open
    assert Identity.made == 0


@pytest.mark.parametrize(
    "char", ["\t", "\n", "\r", "\0", " ", "\x1b", "\u2028", "\u200b", "\u3002"]
)
@pytest.mark.parametrize(
    "address",
    [
        "https://homes{}.blob.core.windows.net",
        "https://homes.blob.core.windows.net{}",
        "{}https://homes.blob.core.windows.net",
        "https:{}//homes.blob.core.windows.net",
        "https://storage.attacker.example{}.blob.core.windows.net",
        "homes.blob.core.{}windows.net",
    ],
)
def test_a_host_with_a_character_that_readers_of_urls_pass_over_is_refused(
    address: str, char: str
) -> None:
    """Python's reader leaves tabs and line ends out: what is asked then is not what was written."""
    with pytest.raises(IdentityRefusedError) as told:
        check("here", address.format(char), STORAGE)
    assert str(told.value).isprintable()


@pytest.mark.parametrize(
    "entry", ["ho\tmes.net", "ho\nmes.net", "bloK.net", "ho mes.net", "a\0b", "h\u3002net"]
)
def test_a_host_that_is_none_cannot_be_allowed(entry: str) -> None:
    with pytest.raises(SettingsError, match="write a host"):
        hosts_of("--identity-storage-hosts", entry.replace("bloK", "blo\u212a"))
