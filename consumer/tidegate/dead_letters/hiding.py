"""Dead letters without the secrets of the process that writes them.

Rules: what user code said is gone through whole, and cut afterwards: half a key is one too. The
event itself goes as it came: it is the publisher's, and is given again as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.delivery.letters import DeadLetter, shown
from tidegate.handling import DeadLetters


class HidingLetters:
    """Puts letters where `letters` does, without what `hide` takes out of a text."""

    def __init__(self, letters: DeadLetters, hide: Callable[[str], str]) -> None:
        self._letters = letters
        self._hide = hide

    async def put(self, letter: DeadLetter) -> str:
        """Writes a letter; gives where it is. Raises DeadLetterError."""
        return await self._letters.put(shown(letter, self._hide))

    async def close(self) -> None:
        await self._letters.close()
