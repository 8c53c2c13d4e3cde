"""Why a query cannot be answered. Pure."""

from __future__ import annotations


class QueryProblem(ValueError):
    """A query that is wrong, or that wants more than is served here."""
