"""The dead letters of a group, as they are in storage.

Rules: read by what the command line reads them with.
"""

from __future__ import annotations

import asyncio

from support.command_group import CommandGroup
from tidegate.commands import wiring
from tidegate.delivery.letters import DeadLetter


def letters_of(group: CommandGroup) -> list[DeadLetter]:
    """All that were put aside."""

    async def read() -> list[DeadLetter]:
        setup = wiring.set_up(group.file, group.environment, runs_code=False)
        letters = wiring.kept_letters(setup)
        try:
            return [await letters.read(listed.id) for listed in await letters.list()]
        finally:
            await letters.close()

    return asyncio.run(read())
