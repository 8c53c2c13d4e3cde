"""Where a ConsumerGroup names a secret, and what of ours may stand there. Pure.

Rules: a connection string that nobody gives is that of the embedded hub, storage or Cosmos DB; any
other secret must be given. What the groups name there is made when it starts: a hub with its
consumer groups, a container with its partition key. That of a source's container is `/id`, unless
the group has the annotation PARTITION_KEY; those of leases and of dead letters are their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

EVENTS, STORAGE, COSMOS = "events", "storage", "cosmos"
PARTITION_KEY: Final = "tidegate-up/partition-key"
WHAT: Final = {EVENTS: "a hub", STORAGE: "storage", COSMOS: "Cosmos DB"}

# Where a ConsumerGroup names a secret, and what of ours it may be.
PLACES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("source", "eventHubs", "connectionString"), EVENTS),
    (("source", "cosmos", "connectionString"), COSMOS),
    (("source", "cosmos", "accountKey"), ""),
    (("delivery", "deadLetters", "eventHub", "connectionString"), EVENTS),
    (("delivery", "deadLetters", "cosmos", "connectionString"), COSMOS),
    (("ledger", "connectionString"), STORAGE),
    (("ledger", "accountKey"), ""),
    (("ledger", "sasToken"), ""),
    (("ledger", "cosmos", "connectionString"), COSMOS),
    (("ledger", "cosmos", "accountKey"), ""),
)

_LETTERS, _LEASES = ("/partition", False), ("/id", False)


@dataclass(slots=True)
class Wanted:
    """What the embedded ones are to have: hubs with groups, containers with partition keys."""

    hubs: dict[str, set[str]] = field(default_factory=dict)
    # DATABASE/CONTAINER: its key's path, and whether a group reads it.
    containers: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def names(self) -> set[str]:
        return {*self.hubs, *self.containers}


def note(wanted: Wanted, what: str, steps: tuple[str, ...], document: Mapping[str, Any]) -> None:
    """Notes what a place of ours needs; has the group make what nobody else can."""
    spec = document["spec"]
    section = spec
    for step in steps[:-1]:
        section = section[step]
    if what == EVENTS:
        hub = section if "hub" in section else spec["source"]["eventHubs"]
        wanted.hubs.setdefault(hub["hub"], set()).add(hub.get("consumerGroup", "$Default"))
    elif what == STORAGE:
        section["create"] = True
    elif steps[0] == "source":
        annotations = document["metadata"].get("annotations") or {}
        wanted.containers[_name(section)] = (str(annotations.get(PARTITION_KEY, "/id")), True)
        letters = ((spec.get("delivery") or {}).get("deadLetters") or {}).get("cosmos")
        if letters is not None and not {"endpoint", "connectionString"} & letters.keys():
            wanted.containers.setdefault(_name(letters), _LETTERS)  # in the source's account
    elif what == COSMOS:
        is_letters = steps[0] == "delivery"
        wanted.containers.setdefault(_name(section), _LETTERS if is_letters else _LEASES)


def _name(section: Mapping[str, Any]) -> str:
    return f"{section['database']}/{section['container']}"
