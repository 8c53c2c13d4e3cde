"""Takes up what is saved in the files while `tidegate up` runs, as `kubectl apply` would.

Rules: what cannot be read, or may not stand, is said once, and what stood goes on. A group that is
no longer in the files goes on too; a hub that was not there at the start comes with the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from tidegate.settings import SettingsError
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.local.given import Given

_LOOK_S = 1.0

Signs = dict[Path, tuple[int, int]]


def signs_of(paths: Iterable[Path]) -> Signs:
    """What changes when a file does; a file that is not there just now has none."""
    found: Signs = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


class Refreshing:
    """See the module. `take` makes what was read stand, and raises KubeError."""

    def __init__(
        self,
        given: Given,
        read: Callable[[], Given],
        take: Callable[[Given], None],
        say: Callable[[str], None],
    ) -> None:
        self._names = given.wanted.names()
        self._signs = signs_of(given.files)
        self._files = given.files
        self._read = read
        self._take = take
        self._say = say

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self.look()

    def look(self) -> None:
        """Once."""
        signs = signs_of(self._files)
        if signs == self._signs:
            return
        self._signs = signs
        try:
            given = self._read()
            lacking = sorted(given.wanted.names() - self._names)
            if lacking:
                raise SettingsError(
                    f"there is no embedded {', '.join(lacking)} yet: start `tidegate up` again for "
                    "it"
                )
            self._take(given)
        except (SettingsError, KubeError) as problem:
            self._say(f"what was saved is not taken: {problem}")
            return
        self._files = given.files
        self._signs = signs_of(self._files)
        self._say("what was saved is taken")
