"""The command line: `tidegate run|rewind|deadletters|ledger|send`.

Rules: each command has a module of its own, which says what it takes and what its exit codes mean.
Only the module of the command that is given is loaded: Azure's packages take their time. Secrets
come from the environment, never from arguments, which other users of a machine can read.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from importlib import import_module
from typing import Any

from tidegate.commands.codes import Code
from tidegate.commands.early import EndedEarly, end_when_asked
from tidegate.commands.last_words import end, leave, say

# Name, module, and what `tidegate --help` says of it.
_COMMANDS = {
    "run": ("tidegate.commands.run", "read a group's events and hand them to your code"),
    "rewind": ("tidegate.commands.rewind", "move a group's checkpoints"),
    "deadletters": (
        "tidegate.commands.letters",
        "list, show and replay the events that were put aside",
    ),
    "ledger": ("tidegate.ledger.command", "look at a group's ledger"),
    "send": ("tidegate.sending.command", "send events to a hub"),
}


def parser(wanted: Collection[str] = tuple(_COMMANDS)) -> argparse.ArgumentParser:
    """The whole command line; the commands that are not wanted have their names alone."""
    top = argparse.ArgumentParser(
        prog="tidegate", description="Consumer groups that share a ledger."
    )
    commands = top.add_subparsers(dest="command", required=True)
    for name, (_, text) in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name in wanted:
            _module(name).add_arguments(command)
    return top


def _module(name: str) -> Any:
    return import_module(_COMMANDS[name][0])


def main() -> None:
    """Carries out what the arguments say; what is wrong is one line on standard error."""
    if sys.argv[1:2] == ["run"]:
        end_when_asked()
    try:
        code = _carry_out(parser(sys.argv[1:2]).parse_args())
    except EndedEarly as ended:
        code = Code.DONE
        say(f"tidegate: {ended}")
    # What a handler prints is no result of the process; what other commands print is theirs.
    is_member = sys.argv[1:2] == ["run"]
    end(code, *((sys.stderr, sys.stdout) if is_member else (sys.stderr,)))


def _carry_out(arguments: argparse.Namespace) -> int:
    # Imported here, so that who is asked to stop meanwhile hears it.
    from tidegate.handling import DeadLetterError  # noqa: PLC0415
    from tidegate.ports import LedgerError, SourceError  # noqa: PLC0415
    from tidegate.settings import SettingsError  # noqa: PLC0415

    module = _module(arguments.command)
    try:
        return int(module.run(arguments, os.environ))
    except SettingsError as error:
        code = Code.CONFIGURATION
        leave(f"{error.reason}: {error}")
        say(f"tidegate: {error}")
    except (DeadLetterError, LedgerError, SourceError) as error:
        code = Code.FAILED
        leave(str(error))
        say(f"tidegate: {error}")
    return int(code)
