"""Groups whose secrets are known, and which fail in every way that has a message; with handlers
that do what handlers should not.

Rules: every secret is a key of its own, so that a leak names it. Nothing here hides anything:
what the handlers say is said as any user's code would say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HUB = "telemetry"

NAMES = (
    "well",
    "raises",
    "tells",
    "letters",
    "broken",
    "aborts",
    "opens",
    "wrong-key",
    "unreachable",
    "wrong-storage",
    "refused-sas",
    "cosmos",
    "wrong-cosmos",
)

# Of a handler that prints its key, which nobody keeps it from.
PRINTS = "prints"

# Each has the secret in locals of its frames; those that are named so say it themselves.
HANDLERS = {
    "leaked.py": """
import os, pathlib
_MOUNTED = pathlib.Path("/etc/tidegate/secrets/planted/events")
SECRET = os.environ.get("LEAKY_EVENTS") or _MOUNTED.read_text().strip()
KEY = SECRET.partition("SharedAccessKey=")[2].partition(";")[0]
""",
    "well.py": """
async def handle(events, context):
    context.state["seen"] = context.state.get("seen", 0) + len(events)
""",
    "raises.py": """
from leaked import KEY
def handle(events, context):
    def log_in(password):
        raise RuntimeError("the service took no log-in for " + context.partition)
    log_in(KEY)
""",
    "tells.py": """
import logging
from leaked import KEY, SECRET
def handle(events, context):
    logging.getLogger("mine").warning("logging in with %s, which is %r", SECRET, {"key": KEY})
    raise ValueError("cannot log in with " + KEY)
""",
    "broken.py": """
from leaked import KEY
def log_in(key=KEY):
    raise ImportError("no module for " + key)
log_in()
def handle(events, context): ...
""",
    "opens.py": """
from leaked import KEY
def on_open(partition):
    raise ConnectionError("the sink refused " + KEY)
def handle(events, context): ...
""",
    "prints.py": """
from leaked import KEY
def handle(events, context):
    print("my key is", KEY, flush=True)
""",
    "aborts.py": """
import os
from leaked import KEY
def handle(events, context):
    key = KEY
    os.abort()
""",
}
# What the handlers say, beside what they should not.
SAID = (
    "cannot log in with",
    "the service took no log-in",
    "no module for",
    "logging in with",
    "the sink refused",
)


def group(name: str, *, source: Any, ledger: Any, handler: str = "well", **spec: Any) -> Any:
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name},
        "spec": {
            "source": source,
            "ledger": ledger,
            "handler": {"code": f"{handler}.py:handle"},
            **spec,
        },
    }


def of_hub(variable: str, **more: Any) -> Any:
    place = {"hub": HUB, "connectionString": {"env": variable}, "start": "earliest", **more}
    return {"eventHubs": place}


def of_storage(container: str, **more: Any) -> Any:
    return {"container": container, "create": True, **more}


def the_groups(blobs: str) -> dict[str, Any]:
    """One for each way to fail, and one that is well; `blobs` is where storage is."""

    def ledger(container: str) -> Any:
        return of_storage(container, connectionString={"env": "STORAGE"})

    def hub(variable: str = "LEAKY_EVENTS") -> Any:
        return of_hub(variable)

    def cosmos(variable: str) -> Any:
        return {
            "cosmos": {
                "database": "shop",
                "container": "orders",
                "connectionString": {"env": variable},
            }
        }

    letters = {
        "onFailure": "deadLetter",
        "attempts": 1,
        "backoff": {"firstSeconds": 0.1},
        "deadLetters": {"blob": {"container": "letters"}},
    }
    wrong = of_storage("wrong-storage", connectionString={"env": "WRONG_STORAGE"})
    refused = of_storage("refused-sas", accountUrl=blobs, sasToken={"env": "SAS"})
    found = {
        "well": group("well", source=hub(), ledger=ledger("well")),
        "raises": group("raises", source=hub(), ledger=ledger("raises"), handler="raises"),
        "tells": group("tells", source=hub(), ledger=ledger("tells"), handler="tells"),
        "letters": group(
            "letters", source=hub(), ledger=ledger("letters"), handler="tells", delivery=letters
        ),
        "broken": group("broken", source=hub(), ledger=ledger("broken"), handler="broken"),
        "aborts": group("aborts", source=hub(), ledger=ledger("aborts"), handler="aborts"),
        "opens": group("opens", source=hub(), ledger=ledger("opens"), handler="opens"),
        "wrong-key": group("wrong-key", source=hub("WRONG_EVENTS"), ledger=ledger("wrong-key")),
        "unreachable": group("unreachable", source=hub("FAR_EVENTS"), ledger=ledger("far")),
        "wrong-storage": group("wrong-storage", source=hub(), ledger=wrong),
        "refused-sas": group("refused-sas", source=hub(), ledger=refused),
        "cosmos": group("cosmos", source=cosmos("COSMOS"), ledger=ledger("cosmos")),
        "wrong-cosmos": group(
            "wrong-cosmos", source=cosmos("WRONG_COSMOS"), ledger=ledger("wrong-cosmos")
        ),
    }
    for each in found.values():  # all read one hub
        source = each["spec"]["source"].get("eventHubs")
        if source is not None:
            source["consumerGroup"] = each["metadata"]["name"]
    return found


def write(folder: Path, groups: Mapping[str, Any]) -> list[Path]:
    """The groups' files, with their handlers beside them."""
    for name, text in HANDLERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    paths = []
    for name, document in groups.items():
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        paths.append(path)
    return paths
