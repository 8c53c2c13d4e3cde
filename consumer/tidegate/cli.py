"""The command line: `tidegate run|rewind|deadletters|migrate|ledger|send`, and other packages'.

Rules: each command has a module of its own, which says what it takes and what its exit codes mean.
Only the module of the command that is given is loaded: Azure's packages take their time. Secrets
come from the environment, never from arguments, which other users of a machine can read. Other
packages' commands are entry points of the group `tidegate.commands`: things with a `text`,
`add_arguments` and `run`. So `tidegate up` is here, and the consumer knows of no operator.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tidegate import __version__
from tidegate.commands.arguments import parsed
from tidegate.commands.codes import Code
from tidegate.commands.dumps import no_core_dumps
from tidegate.commands.last_words import end, leave, say, say_and_leave
from tidegate_http.output import standard_output
from tidegate_http.shutdown import SHUTDOWN, EndedEarly

# Name, module, and what `tidegate --help` says of it.
_COMMANDS = {
    "run": ("tidegate.commands.run", "read a group's events and hand them to your code"),
    "rewind": ("tidegate.commands.rewind", "move a group's checkpoints"),
    "deadletters": (
        "tidegate.commands.letters",
        "list, show and replay the events that were put aside",
    ),
    "migrate": (
        "tidegate.commands.migrate",
        "move a change feed processor's positions into a group's ledger, or back",
    ),
    "ledger": ("tidegate.ledger.command", "look at a group's ledger"),
    "send": ("tidegate.sending.command", "send events to a hub"),
}


_ENTRY_POINTS = "tidegate.commands"


def parser(wanted: Collection[str] = tuple(_COMMANDS)) -> argparse.ArgumentParser:
    """The whole command line; the commands that are not wanted have their names alone.

    Those of other packages are looked for where none of ours is wanted.
    """
    top = argparse.ArgumentParser(
        prog="tidegate", description="Consumer groups that share a ledger."
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True)
    for name, (_, text) in _COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name in wanted:
            _command(name).add_arguments(command)
    if not _COMMANDS.keys() & set(wanted):
        for entry in _added():
            added = entry.load()
            added.add_arguments(commands.add_parser(entry.name, help=added.text))
    return top


def _command(name: str) -> Any:
    """What carries it out: a module of ours, or what an entry point names."""
    if name in _COMMANDS:
        return import_module(_COMMANDS[name][0])
    return next(entry for entry in _added() if entry.name == name).load()


def _added() -> list[EntryPoint]:
    return sorted(entry_points(group=_ENTRY_POINTS), key=lambda entry: entry.name)


def main() -> None:
    """Carries out what the arguments say; what is wrong is one line on standard error."""
    with standard_output("tidegate"):
        _main()


def _main() -> None:
    is_member = sys.argv[1:2] == ["run"]
    if is_member:
        # Before anything large is imported: the kernel drops a signal to process 1 of a container
        # that has no handler for it.
        SHUTDOWN.begin(say_and_leave)
    no_core_dumps(os.environ)
    try:
        code = _carry_out(parsed(parser(sys.argv[1:2]), sys.argv[1:]))
    except EndedEarly as ended:
        code = Code.DONE
        say(f"tidegate: {ended}")
    if is_member:
        SHUTDOWN.over(code)
    end(code)


def _carry_out(arguments: argparse.Namespace) -> int:
    # Imported here, so that who is asked to stop meanwhile hears it.
    from tidegate.handling import DeadLetterError  # noqa: PLC0415
    from tidegate.ports import LedgerError, SourceError  # noqa: PLC0415
    from tidegate.settings import SettingsError  # noqa: PLC0415

    command = _command(arguments.command)
    try:
        return int(command.run(arguments, os.environ))
    except SettingsError as error:
        code = Code.CONFIGURATION
        leave(f"{error.reason}: {error}")
        say(f"tidegate: {error}")
    except (DeadLetterError, LedgerError, SourceError) as error:
        code = Code.FAILED
        leave(str(error))
        say(f"tidegate: {error}")
    return int(code)
