"""Positions that mean nothing to their source any more: what is said of them. Pure.

Rules: nobody reads on there, and nothing that is stored is touched, until somebody rewinds. The
words are the source's, by the member that met it, or by the operator's own question where none
lives.
"""

from __future__ import annotations

from tidegate.bounded import cut
from tidegate_operator.view import GroupView
from tidegate_operator.wording import said, stopped

LOST = "PositionLost"
_WORDS = 600


def lost_positions_text(view: GroupView) -> str:
    """What became of the positions that mean nothing to the source any more, and what to do."""
    told = [stopped(said(words)) for words in view.lost.values()]
    more = f" So it is with {len(told) - 1} more." if len(told) > 1 else ""
    return (
        "The source does not know a stored position any more, and nobody reads on there: "
        f"{cut(told[0], _WORDS)}{more} What is stored stays as it is until you rewind: "
        f"{view.commands.rewind(view.key)}, or to latest or a time. Or begin anew under another "
        "name."
    )
