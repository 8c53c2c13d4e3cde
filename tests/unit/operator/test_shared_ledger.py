"""Two ConsumerGroups that name one ledger: the second is told so, and touches nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tidegate.commands.wiring import Setup
from tidegate_operator.ledgers import SHARED, Ledgers
from tidegate_operator.model import GroupKey, LedgerTrouble
from tidegate_operator.secrets import Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import read_spec

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
FIRST, COPY = GroupKey("homes", "activity"), GroupKey("homes", "activity-copy")


def setup_of(key: str = "aGVsbG8=", consumer_group: str = "$Default") -> Setup:
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
        ("s", "events"): "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=YQ==",
        ("s", "storage"): f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey={key};"
        "BlobEndpoint=http://127.0.0.1:1/a",
    }
    document = {
        "apiVersion": "tidegate.dev/v1alpha1", "kind": "ConsumerGroup",
        "metadata": {"name": "home"}, "spec": spec,
    }  # fmt: skip
    return Sight(values, {"s": "1"}, "", ()).setup_of("home", read_spec(document))


@pytest.fixture
async def ledgers() -> AsyncIterator[Ledgers]:
    ledgers = Ledgers(SETTINGS, lambda: 1000.0, lambda: 0.5, lambda _: None)
    yield ledgers
    await ledgers.close()


async def reason(ledgers: Ledgers, key: GroupKey) -> str:
    view, failure = await ledgers.look(key)
    assert view is None and failure is not None
    return failure.reason


async def test_the_second_group_of_a_ledger_is_told_whose_it_is(ledgers: Ledgers) -> None:
    ledgers.open(FIRST, setup_of())
    ledgers.open(COPY, setup_of())
    assert await reason(ledgers, FIRST) == LedgerTrouble.UNREACHABLE
    _, failure = await ledgers.look(COPY)
    assert failure is not None and failure.reason == SHARED
    assert str(FIRST) in failure.message and "Delete one of the two" in failure.message


async def test_other_credentials_do_not_change_whose_it_is(ledgers: Ledgers) -> None:
    ledgers.open(FIRST, setup_of())
    ledgers.open(COPY, setup_of())
    ledgers.open(FIRST, setup_of(key="d29ybGQ="))
    assert await reason(ledgers, FIRST) == LedgerTrouble.UNREACHABLE
    assert await reason(ledgers, COPY) == SHARED


async def test_when_the_first_has_gone_the_ledger_is_the_seconds(ledgers: Ledgers) -> None:
    ledgers.open(FIRST, setup_of())
    ledgers.open(COPY, setup_of())
    ledgers.forget(FIRST)
    assert await reason(ledgers, COPY) == LedgerTrouble.UNREACHABLE


async def test_another_consumer_group_of_the_hub_is_another_ledger(ledgers: Ledgers) -> None:
    ledgers.open(FIRST, setup_of())
    ledgers.open(COPY, setup_of(consumer_group="alarms"))
    assert await reason(ledgers, COPY) == LedgerTrouble.UNREACHABLE
