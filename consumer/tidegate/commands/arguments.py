"""Arguments of a command line, where some are not known: by the command that they were given to.

argparse says it in the name of the whole program, and lists commands in place of options. Here it
is the command that speaks, and an option that was probably meant is named. Exit code 2, as there.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches


def parsed(top: argparse.ArgumentParser, given: Sequence[str]) -> argparse.Namespace:
    """What was given, as `parse_args` has it."""
    found, unknown = top.parse_known_args(given)
    if unknown:
        command = _command(top, given)
        command.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(command, unknown)}")
    return found


def _command(top: argparse.ArgumentParser, given: Sequence[str]) -> argparse.ArgumentParser:
    """The innermost command that is named."""
    for word in given:
        for action in top._actions:
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                top = action.choices[word]
    return top


def _meant(command: argparse.ArgumentParser, unknown: Sequence[str]) -> str:
    options = [each.partition("=")[0] for each in unknown if each.startswith("--")]
    known = list(command._option_string_actions)
    close = [match for each in options for match in get_close_matches(each, known, n=1)]
    return f": did you mean {' and '.join(close)}?" if close else ""
