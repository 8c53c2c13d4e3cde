"""Loads evened out within a band, by exchanges between members.

Rules:
- Pure. Counts stay within their floors and ceilings.
- First the exchanges that take no further move: they only choose better which partitions go where.
  While members are awaited there are none: what waits for them in good hands would move for it.
- An exchange that takes moves is for a member two bands above its fair share. It brings it down to
  one band above, or as near as it gets, and counts only if all who take part end a band below where
  that member was. So a load that wavers by less than a part of the band moves nothing, and nothing
  moves back.
- While members are leaving no exchange takes a move: it might be undone.
- What is decided for one member is judged again after the others, until nothing is left to do: the
  plan for the assignment that comes out is that assignment.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.balance.dealing import Assignment
from tidegate.balance.group import Group
from tidegate.balance.levels import Exchange, Levels
from tidegate.balance.shares import Shares
from tidegate.model import MemberName

# Enough partners to find a good exchange among; more cost time and gain little.
_PARTNERS = 8
# An exchange is worth its trouble from this part of a band on.
_STEP = 1 / 8


def even_out(group: Group, assignment: Assignment, shares: Shares, hot: Assignment) -> Assignment:
    """A better assignment of the same counts, or the same one."""
    if group.is_awaiting or len(group.takers) < 2 or not any(group.loads.values()):
        return assignment
    levels = Levels(group, dict(assignment), shares, hot)
    band = group.band
    if any(group.owners.get(id) != name for id, name in assignment.items()):
        for name in levels.above(1 + band):
            for _ in _relieved(levels, name, 1 + band / 2, band * _STEP, without_moves=True):
                pass
    if not group.leavers:
        while sum(_is_relieved(levels, name, band) for name in levels.above(1 + 2 * band)):
            pass
    return levels.assignment


def _is_relieved(levels: Levels, name: MemberName, band: float) -> bool:
    """Whether exchanges gained the member a band; otherwise nothing has changed."""
    before = levels.level(name)
    if before <= 1 + 2 * band:
        return False
    made = list(_relieved(levels, name, 1 + band, band * _STEP, without_moves=False))
    touched = {name, *(exchange.taker for exchange in made)}
    if before - max(levels.level(other) for other in touched) >= band:
        return True
    levels.undo(reversed(made))
    return False


def _relieved(
    levels: Levels, name: MemberName, goal: float, step: float, *, without_moves: bool
) -> Iterator[Exchange]:
    """Makes exchanges until the member is at the goal or no exchange helps, and gives each."""
    while (level := levels.level(name)) > goal:
        choices = levels.exchanges(name, _PARTNERS, without_moves=without_moves)
        best = min(choices, key=lambda exchange: exchange.rank(goal), default=None)
        if best is None or best.level > level - step:
            return
        levels.make(best)
        yield best
