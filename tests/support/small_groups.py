"""Groups in the small API: for tests of an operator that runs whole."""

from __future__ import annotations

import base64
from typing import Any

from support.small_api import SmallApi
from tidegate_operator.kinds import CONSUMER_GROUP, SECRET
from tidegate_operator.local.ports import free_port


def put_group(api: SmallApi, name: str = "activity", **spec: Any) -> None:
    """A group whose storage nobody serves; its objects can be made all the same."""
    values = {
        "events": f"Endpoint=sb://127.0.0.1:{free_port()};SharedAccessKeyName=k;"
        "SharedAccessKey=aGVsbG8=;UseDevelopmentEmulator=true",
        "storage": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
        f"BlobEndpoint=http://127.0.0.1:{free_port()}/a",
    }
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    metadata = {"namespace": "homes", "name": "azure"}
    if api.get(SECRET, "homes", "azure") is None:
        api.put({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    secret = {"secret": "azure", "key": "events"}
    api.put(
        {
            "apiVersion": CONSUMER_GROUP.api_version,
            "kind": CONSUMER_GROUP.name,
            "metadata": {"namespace": "homes", "name": name},
            "spec": {
                "source": {"eventHubs": {"hub": "telemetry", "connectionString": secret}},
                "ledger": {"container": name, "connectionString": {**secret, "key": "storage"}},
                "handler": {"code": "handler:handle"},
                **spec,
            },
        }
    )
