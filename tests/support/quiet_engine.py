"""An engine of containers whose client is never run: what it is told to do is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine import Engine


@dataclass(frozen=True, slots=True)
class QuietEngine(Engine):
    """See the module. Two nodes run, and began a second apart."""

    done: list[tuple[str, ...]] = field(default_factory=list)

    def do(self, log: str, *arguments: str | Path) -> None:
        self.done.append(tuple(str(each) for each in arguments))

    def listed(self, *arguments: str) -> list[str]:
        if arguments[0] == "inspect":
            return ["2026-11-19T19:48:47.861818414Z", "2026-11-19T19:48:48.1Z"]
        return ["first", "second"] if arguments[0] == "ps" else []
