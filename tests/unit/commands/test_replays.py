"""Replays of dead letters where there is nobody to give them to."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tidegate.commands.letters import _way
from tidegate.commands.wiring import set_up
from tidegate.settings import SettingsError

GROUP = """\
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home}
spec:
  source: {eventHubs: {hub: telemetry, connectionString: {env: EVENTS}}}
  ledger: {container: ledger, connectionString: {env: STORAGE}}
"""
ENVIRONMENT = {
    "EVENTS": "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=s",
    "STORAGE": "UseDevelopmentStorage=true",
}


@pytest.mark.parametrize(
    "more", ["", '  engine: spark\n  handler: {code: "pipeline.py:pipeline"}\n']
)
async def test_a_group_that_spark_reads_has_no_handler_to_replay_by(
    tmp_path: Path, more: str
) -> None:
    file = tmp_path / "group.yaml"
    file.write_text(GROUP + more, encoding="utf-8")
    setup = set_up(file, ENVIRONMENT, runs_code=False)
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match="send the event to the hub again, with --to-hub"):
            await _way(setup, stack, to_hub=False)
