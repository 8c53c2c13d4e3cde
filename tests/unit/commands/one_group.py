"""A group file for tests that end before anything of it is reached."""

from __future__ import annotations

GROUP = """
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home}
spec:
  source: {eventHubs: {hub: telemetry, connectionString: {env: HUB}}}
  ledger: {container: ledger, connectionString: {env: STORE}}
  handler: {code: "handler.py:handle"}
"""
