"""Where the agent finds things, as its pod is told it. Rules: pure; secrets are in the environment
and never here."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

PORT = 9401
SETTING = "CONFORMANCE_PLACE"
EVENTS, STORAGE, COSMOS = "EVENTS", "STORAGE", "COSMOS"


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """See the module."""

    source: str  # hub or cosmos
    ledger: str  # the container
    # What the ledger's blobs have between the host and their kind: HUB/GROUP/; '' for all.
    within: str
    seen: str  # the container of what handlers write down
    folder: str
    hub: str = ""
    database: str = ""
    container: str = ""
    # The admin API of tidegate-cosmos; '' where ranges cannot be split.
    ranges: str = ""
    every_s: float = 0.2
    creates_seen: bool = True

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> AgentPlace:
        return cls(**json.loads(text))
