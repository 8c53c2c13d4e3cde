"""For how long a round waits for the Kubernetes API where others wait for the round.

Rules: what was not answered in time may still be done; it is fenced, and the next round sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidegate_operator.kube_errors import Unreachable

# For one status, for its Events, or for all marks of a round.
PATIENCE_S = 2.0


@asynccontextmanager
async def patience(what: str) -> AsyncIterator[None]:
    """For a moment. Raises Unreachable at its end."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield
    except TimeoutError:
        raise Unreachable(
            f"{what}: there was no answer within {PATIENCE_S:g} s. Look at the API server if that "
            "goes on."
        ) from None
