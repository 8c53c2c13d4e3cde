"""Options of our own servers' command lines.

Rules: what is wrong is said in one line on standard error, with what was expected, and the exit
code is 2.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NoReturn

_PORTS = 65_535


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        program = self.prog.partition(" ")[0]
        self.exit(2, f"{program}: {message}. See {self.prog} --help.\n")


def add_version(parser: argparse.ArgumentParser) -> None:
    """`--version`: that of the package; a source tree that is not installed has none."""
    try:
        found = version("tidegate")
    except PackageNotFoundError:
        found = "of a source tree"
    parser.add_argument("--version", action="version", version=found)


def number(
    read: Callable[[str], float], expected: str, least: float, most: float = float("inf")
) -> Callable[[str], float]:
    """A reader of a number within limits that says what it expected."""

    def number(text: str) -> float:
        try:
            value = read(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most or value == float("inf"):
            raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r:.60}")
        return value

    return number


port = number(int, f"a port from 0 to {_PORTS}", 0, _PORTS)


def add_addresses(add: Callable[..., Any], what: str, port_number: int) -> None:
    """Where the server listens."""
    add("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    add(
        "--port",
        type=port,
        default=port_number,
        help=f"{what}; 0 takes any free port (default: %(default)s)",
    )


def add_admin(add: Callable[..., Any], what: str) -> None:
    """Where its admin API does."""
    add("--admin-port", type=port, help=f"{what}; off by default")
    add(
        "--admin-host",
        default="127.0.0.1",
        help="the address the admin API listens on (default: %(default)s)",
    )
