"""Arguments of a command line: numbers within limits, and the command that speaks of unknown ones.

Rules:
- A number is finite and within limits, for every option of every command: `float` takes `nan` and
  `inf`, with which each comparison or each wait goes wrong.
- argparse names the whole program where an argument is not known, and lists commands in place of
  options. Here the command speaks, and names the option that was probably meant. Exit code 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches

# A year, and what fits into 32 bits: more is a slip, and some clocks and counters take no more.
_MOST_SECONDS = 31_536_000.0
_MOST = (1 << 31) - 1


def seconds(text: str) -> float:
    """A length of time of 0 or more."""
    found = _number(text)
    if not 0 <= found <= _MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{_shown(text)}: write a number of seconds from 0 to {_MOST_SECONDS:.0f}"
        )
    return found


def above_zero(text: str) -> float:
    """A rate or a length of time that cannot be 0."""
    found = _number(text)
    if not 0 < found <= _MOST:
        raise argparse.ArgumentTypeError(f"{_shown(text)}: write a number above 0, at most {_MOST}")
    return found


def count(text: str) -> int:
    """A number of things, 1 or more."""
    found = _number(text)
    if not (1 <= found <= _MOST and text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{_shown(text)}: write a whole number from 1 to {_MOST}")
    return int(found)


def seed(text: str) -> int:
    """A whole number that dice begin with."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and int(digits[:20]) <= _MOST):
        raise argparse.ArgumentTypeError(
            f"{_shown(text)}: write a whole number from -{_MOST} to {_MOST}"
        )
    return int(text)


def _number(text: str) -> float:
    """The number; not a number where it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _shown(text: str) -> str:
    return f"{text[:60]!r}"


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
