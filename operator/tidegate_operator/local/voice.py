"""What `tidegate up` says: each decision with its reason and what becomes of pods, as it happens.

Rules: on a terminal a live table with the last lines beneath it, and the terminal is given back as
it was; elsewhere a line each. Decisions are the Events that the operator writes, in its own words.
Secrets never leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TextIO

from tidegate.ops import logs
from tidegate.ops.terminal import Size, Terminal
from tidegate.ops.view import EVERY_S, Pane
from tidegate.ops.view import is_wanted as is_for_people
from tidegate_operator.kinds import CONSUMER_GROUP, EVENT, Kind
from tidegate_operator.local.shown import screen
from tidegate_operator.local.store import Store
from tidegate_operator.secrets import KnownSecrets

_PRINTED_AT_THE_END = 12


class Voice:
    """See the module."""

    def __init__(self, hidden: KnownSecrets, out: TextIO, level: str) -> None:
        """`level` is that of the log of the operator's own modules, which is told too."""
        self._hidden = hidden
        self._out = out
        self._level = level
        # While the live table is shown.
        self._pane: Pane | None = None
        logs.set_up(hidden, level=level, as_json=False)

    def say(self, who: str, text: str) -> None:
        """A line: of a group, or of what serves them all."""
        at = time.strftime("%H:%M:%S")
        line = f"{at}  {who}  {text}" if who else f"{at}  {text}"
        line = self._hidden.hide(line)
        if self._pane is not None:
            self._pane.lines.append(line)
        else:
            self._print(line)

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)

    def hear(self, kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
        """Says an Event, the first time that it is told."""
        if kind != EVENT or is_gone or document["count"] > 1:
            return
        mark = "" if document["type"] == "Normal" else "warning: "
        self.say(
            document["involvedObject"]["name"],
            f"{mark}{document['reason']}: {document['message']}",
        )

    @contextlib.contextmanager
    def shown(
        self, store: Store, head: str, environment: Mapping[str, str], *, is_wanted: bool
    ) -> Iterator[None]:
        """The live table, while the block lasts, where a person looks at a terminal."""
        if not (is_wanted and is_for_people(self._out, environment)):
            yield
            return
        pane = self._pane = Pane(self._hidden)
        terminal = Terminal(self._out, has_colours="NO_COLOR" not in environment)
        size_of = partial(os.get_terminal_size, self._out.fileno())
        logs.set_up(self._hidden, level=self._level, as_json=False, stream=pane)
        terminal.open()
        showing = asyncio.create_task(_show(store, head, pane, terminal, size_of))
        try:
            yield
        finally:
            showing.cancel()
            self._pane = None
            logs.set_up(self._hidden, level=self._level, as_json=False)
            if terminal.close():
                for line in list(pane.lines)[-_PRINTED_AT_THE_END:]:
                    self._print(line)


async def _show(
    store: Store, head: str, pane: Pane, terminal: Terminal, size_of: Callable[[], Size]
) -> None:
    while True:
        columns, rows = at = size_of()
        groups, lines = store.list(CONSUMER_GROUP), list(pane.lines)
        shown = screen(groups, lines, head=head, columns=columns, rows=rows, wall=time.time())
        terminal.show(shown, at)
        await asyncio.sleep(EVERY_S)
