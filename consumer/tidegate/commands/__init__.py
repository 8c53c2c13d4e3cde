"""`tidegate run`, `tidegate rewind` and `tidegate deadletters`: what a group file is used for.

`add_to` puts them on the command line; `run` carries one out and gives its exit code (codes.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from tidegate.commands import letters, rewind
from tidegate.commands import run as running
from tidegate.commands.codes import Code
from tidegate.handling import DeadLetterError
from tidegate.ports import LedgerError, SourceError
from tidegate.settings import SettingsError

_COMMANDS = {"run": running.run, "rewind": rewind.run, "deadletters": letters.run}
NAMES = tuple(_COMMANDS)


def add_to(commands: Any) -> None:
    """Adds them to the command line."""
    for command in (running, rewind, letters):
        command.add_to(commands)


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Carries out the one that was given; what is wrong is one line on standard error."""
    try:
        return int(_COMMANDS[arguments.command](arguments, environment))
    except SettingsError as error:
        code = Code.CONFIGURATION
        print(f"tidegate: {error}", file=sys.stderr)
    except (DeadLetterError, LedgerError, SourceError) as error:
        code = Code.FAILED
        print(f"tidegate: {error}", file=sys.stderr)
    return int(code)
