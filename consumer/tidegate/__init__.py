"""Tidegate: consumer groups for Azure Event Hubs and the Azure Cosmos DB change feed.

This package is what runs in every consumer. It knows no Kubernetes. The version below is the only
one: the wheel, the change log's test and the command lines read it here.
"""

from __future__ import annotations

__version__ = "0.1.0"
