"""A namespace of a cluster, and groups in it that an operator looks after."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate.ledger.access import BlobSettings, open_container

SOON = 15.0
LATER = 60.0
MADE = "serviceaccount,configmap,service,deployment,poddisruptionbudget"


@dataclass
class Place:
    """A namespace, and what a group there needs."""

    inside: Kubectl
    storage: str
    events: str
    container: str

    def put_secret(self, name: str = "azure", **changes: str) -> None:
        values = {"events": self.events, "storage": self.storage} | changes
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        self.inside.apply(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        )

    def put_group(self, name: str = "home", *, ledger: dict[str, Any] | None = None,
                  **spec: Any) -> None:  # fmt: skip
        self.inside.apply(
            {
                "apiVersion": "tidegate.dev/v1alpha1",
                "kind": "ConsumerGroup",
                "metadata": {"name": name},
                "spec": {
                    "source": {
                        "eventHubs": {
                            "hub": "telemetry",
                            "connectionString": {"secret": "azure", "key": "events"},
                        }
                    },
                    "ledger": {
                        # Each group has a ledger of its own.
                        "container": self.container + ("" if name == "home" else f"-{name}"),
                        "create": True,
                        "connectionString": {"secret": "azure", "key": "storage"},
                        **(ledger or {}),
                    },
                    "handler": {"code": "tidegate.handlers.printing:handle"},
                    **spec,
                },
            }
        )

    def there(self, kind: str, name: str = "home") -> dict[str, Any] | None:
        found = self.inside.tried("get", kind, name, "--output", "json")
        return dict(json.loads(found.stdout)) if found.returncode == 0 else None

    def until(self, what: str, condition: Callable[[], object], seconds: float = SOON) -> None:
        wait_until(condition, seconds, what, self.told)

    def told(self) -> str:
        return self.inside.tried("get", f"cg,{MADE},pods", "--output", "yaml").stdout[-6000:]

    def condition(self, type: str, name: str = "home") -> dict[str, Any]:
        status = (self.there("cg", name) or {}).get("status") or {}
        found = [each for each in status.get("conditions", ()) if each["type"] == type]
        return found[0] if found else {}

    def replicas(self, name: str = "home") -> int | None:
        found = self.there("deployment", name)
        return None if found is None else int(found["spec"]["replicas"])

    def blobs(self) -> list[str]:
        """The names of the blobs in the group's container."""
        return _blobs(self.storage, self.container)


def _blobs(storage: str, container: str) -> list[str]:
    async def names() -> list[str]:
        async with open_container(BlobSettings(container, connection_string=storage)) as client:
            return [name async for name in client.list_blob_names()]

    return asyncio.run(names())
