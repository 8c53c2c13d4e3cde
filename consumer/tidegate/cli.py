"""The command line: `tidegate run|rewind|deadletters|ledger|send`.

Rules: each command has a module of its own, which says what its exit codes mean; this one only
finds it. Secrets come from the environment, never from arguments, which other users of a machine
can read.
"""

from __future__ import annotations

import argparse
import os
import sys

from tidegate import commands as group_commands
from tidegate.ledger import command as ledger
from tidegate.sending import command as send


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tidegate", description="Consumer groups that share a ledger."
    )
    commands = top.add_subparsers(dest="command", required=True)
    send.add_to(commands)
    group_commands.add_to(commands)
    ledger.add_to(commands)
    return top


def main() -> None:
    arguments = parser().parse_args()
    if arguments.command == "send":
        sys.exit(send.run(arguments, os.environ))
    if arguments.command == "ledger":
        sys.exit(ledger.run(arguments, os.environ))
    sys.exit(group_commands.run(arguments, os.environ))
