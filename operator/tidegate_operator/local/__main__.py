"""`python -m tidegate_operator.local up …`: `tidegate up` where the package is not installed.

Rules: the commands, their words and exit codes are those of `tidegate`, which finds them as entry
points of the installed package. A source tree has none.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from tidegate.commands.codes import Code
from tidegate.commands.dumps import no_core_dumps
from tidegate.commands.last_words import end, say
from tidegate.settings import SettingsError
from tidegate_http.output import standard_output
from tidegate_operator.local import command

_COMMANDS: dict[str, Any] = {
    "up": command.UP,
    "get": command.GET,
    "explain": command.EXPLAIN,
    "partitions": command.PARTITIONS,
    "watch": command.WATCH,
    "pause": command.PAUSE,
    "resume": command.RESUME,
    "scale": command.SCALE,
    "move": command.MOVE,
    "delete": command.DELETE,
}


def main() -> None:
    """Carries out what the arguments say."""
    with standard_output("tidegate"):
        _main()


def _main() -> None:
    no_core_dumps(os.environ)
    top = argparse.ArgumentParser(prog="tidegate")
    commands = top.add_subparsers(dest="command", required=True)
    for name, each in _COMMANDS.items():
        each.add_arguments(commands.add_parser(name, help=each.text))
    arguments = top.parse_args()
    try:
        code = _COMMANDS[arguments.command].run(arguments, os.environ)
    except SettingsError as problem:
        say(f"tidegate: {problem}")
        code = Code.CONFIGURATION
    end(code)


if __name__ == "__main__":
    main()
