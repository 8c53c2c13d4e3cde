"""How much: events on one core and two, members and partitions on real leases, and worlds of many.

- `look`: what one look at a ledger on Azurite costs, of 32 to 2,048 partitions: CPU and bytes.
- `consume`: `tidegate run` end to end, from the hub through the handler to the checkpoint: one
  member on one core, and two on two.
- `members`: real processes on Azurite, 16 to 64 members with 64 to 256 partitions: until they share
  all, what a settled one takes, and one of them killed.
- `worlds`, `large`: in virtual time, 1,000 groups, and few of so many members and partitions: what
  they ask of storage, and what load_paper.py says that they ask.

PARTS=look,worlds asks for parts; QUICK=1 for small ones. Rules: hub and Azurite share this
machine's cores with all members; where members have a core of their own, it is said. There is no
peer for worlds: what the official processor does with many is in bench-balance.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Bench, Line, parts_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import load_consume
import load_look
import load_members
import load_worlds

PARTS: dict[str, Callable[[bool], Iterator[Line]]] = {
    "look": load_look.lines,
    "consume": load_consume.lines,
    "members": load_members.lines,
    "worlds": load_worlds.lines,
    "large": load_worlds.large_lines,
}


def main() -> None:
    wanted = parts_of(os.environ, tuple(PARTS))
    bench = Bench("load")
    for name, lines in PARTS.items():
        if name in wanted:
            for line in lines(bench.quick):
                bench.add(line)
    bench.finish()


if __name__ == "__main__":
    main()
