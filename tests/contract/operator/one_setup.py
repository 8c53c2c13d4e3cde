"""How a group is opened by an operator under test: its ConsumerGroup and what its Secret holds."""

from __future__ import annotations

from typing import Any

from tidegate.commands.wiring import Setup
from tidegate_operator.model import GroupKey
from tidegate_operator.secrets import Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import read_spec

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
HOME, ALARMS = GroupKey("default", "home"), GroupKey("default", "alarms")
EMULATOR = "UseDevelopmentEmulator=true"
EVENTS = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8="


def setup_of(
    storage: str, container: str, *, hub: str = "telemetry", events: str = EVENTS, **ledger: Any
) -> Setup:
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "home"},
        "spec": {
            "source": {
                "eventHubs": {"hub": hub, "connectionString": {"secret": "s", "key": "events"}}
            },
            "ledger": {
                "container": container,
                "connectionString": {"secret": "s", "key": "storage"},
                "create": True,
                **ledger,
            },
            "handler": {"code": "handler:handle"},
        },
    }
    values = {("s", "events"): events, ("s", "storage"): storage}
    return Sight(values, {"s": "1"}, "", ()).setup_of("home", read_spec(document))
