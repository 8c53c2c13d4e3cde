"""What a scenario of the Python clients is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contract.hub.clients import Blob, HubClient


@dataclass(frozen=True, slots=True)
class Stage:
    """A client, the hub that is this scenario's alone, and a fresh container where one is asked."""

    client: HubClient
    hub: str
    new_container: Callable[[], Blob]
