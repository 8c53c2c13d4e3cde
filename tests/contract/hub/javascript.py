"""Where the JavaScript runner is, and the packages from the registry that it needs."""

from __future__ import annotations

import os
from pathlib import Path

from support.azurite import REPOSITORY, NotInstalled

RUNNER = Path(__file__).resolve().parent / "js" / "scenarios.mjs"


def installed_environment() -> dict[str, str]:
    """The environment for node, once it is sure that the packages are there."""
    place = Path(os.environ.get("TIDEGATE_CONTRACT_JS") or REPOSITORY / ".tools" / "contract-js")
    if not (place / "node_modules" / "@azure" / "event-hubs").is_dir():
        raise NotInstalled(
            f"The JavaScript SDK was not found in {place}: run `make test`, which installs it"
        )
    return {**os.environ, "TIDEGATE_CONTRACT_JS": str(place)}
