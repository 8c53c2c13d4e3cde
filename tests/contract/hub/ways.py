"""Scenarios by every way to a hub: plain or with TLS, by TCP or by WebSockets.

Rules: each case has a hub of its own, and a container where processors play it. With TLS the hub
shows a certificate of an authority that the tests have made for themselves.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from azure.storage.blob import BlobServiceClient

from contract.hub.scenarios import KEY_PARTITIONS, PROCESSORS, SCENARIOS, Scenario
from support.certificates import make_certificates
from tidegate_hub.running import RunningHub, running_hub

TCP, TLS, WS, WSS = "tcp", "tls", "ws", "wss"
_WITH_TLS = (TLS, WSS)
_WEB_SOCKETS = (WS, WSS)

# What only TLS has, beside the contract.
UNKNOWN_AUTHORITY = Scenario(
    "an_unknown_authority_is_refused", "A hub whose authority the client does not know is refused."
)
_ALL = (*SCENARIOS, UNKNOWN_AUTHORITY)


class Case(NamedTuple):
    """A scenario, and the way to its hub."""

    scenario: Scenario
    way: str

    @property
    def name(self) -> str:
        return f"{self.scenario.name} by {self.way}"


def cases(names: Sequence[str], *ways: str) -> list[Case]:
    """The scenarios of these names, by each of these ways."""
    found = [scenario for scenario in _ALL if scenario.name in names]
    assert len(found) == len(names), "a name is of no scenario"
    return [Case(scenario, way) for way in ways for scenario in found]


def cases_asked_for(request: pytest.FixtureRequest) -> list[Case]:
    """The cases of this module that this run of pytest selects, each once."""
    chosen = [
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and hasattr(item, "callspec")
        and "case" in item.callspec.params
    ]
    return [each for each in chosen if isinstance(each, Case)]


def _stage(case: Case, language: str, server: RunningHub, authority: Path) -> dict[str, Any]:
    hub = f"{language}-{case.way}-{case.scenario.name}".replace("_", "-")
    server.add_hub(hub, case.scenario.partitions, groups=case.scenario.groups)
    has_tls = case.way in _WITH_TLS
    text = server.connection_string
    if has_tls:
        text = server.call(lambda: server._server.connection_string(tls=True))
    return {
        "scenario": case.scenario.name,
        "connectionString": text,
        "endpoint": f"{'amqps' if has_tls else 'amqp'}://localhost:"
        f"{server.tls_port if has_tls else server.port}",
        "hub": hub,
        "authority": str(authority) if has_tls else "",
        "webSockets": case.way in _WEB_SOCKETS,
    }


@contextlib.contextmanager
def staged(
    language: str, chosen: Sequence[Case], folder: Path, azurite: str = ""
) -> Iterator[tuple[str, Path]]:
    """What a program is told to play these cases, and the authority that it has to trust, while the
    hubs are there."""
    made = make_certificates(folder)
    options: dict[str, Any] = {
        "tls_port": 0, "certificate": made.certificate, "private_key": made.private_key,
    }  # fmt: skip
    stages = {}
    with (
        running_hub(**options) as plain,
        running_hub(check_sas=True, **options) as checking,
    ):
        for case in chosen:
            server = checking if case.scenario.checks_sas else plain
            stage = _stage(case, language, server, made.authority)
            if azurite and case.scenario in PROCESSORS:
                stage["store"] = {"connectionString": azurite, "container": stage["hub"]}
                with BlobServiceClient.from_connection_string(azurite) as blobs:
                    blobs.create_container(stage["hub"])
            stages[case.name] = stage
        told = json.dumps({"stages": stages, "keyPartitions": KEY_PARTITIONS})
        yield told, made.authority
