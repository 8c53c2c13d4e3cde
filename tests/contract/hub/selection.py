"""Which scenarios this run of pytest asks for, so that no other is played."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from contract.hub.scenarios import SCENARIOS, Scenario


def scenarios_asked_for(
    request: pytest.FixtureRequest, all_: Sequence[Scenario] = SCENARIOS, **parameters: str
) -> list[Scenario]:
    """The scenarios of the selected cases of this module, with these other parameters."""
    chosen = set()
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.path == request.path:
            given = item.callspec.params if hasattr(item, "callspec") else {}
            if "scenario" in given and all(
                given[name] == value for name, value in parameters.items()
            ):
                chosen.add(given["scenario"])
    return [scenario for scenario in all_ if scenario in chosen]
