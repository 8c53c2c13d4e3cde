"""The command line: `tidegate-cosmos serve …`.

Rules: what is wrong is said in one line on standard error with what was expected, and the exit code
is 2; Ctrl-C and SIGTERM stop the server cleanly with 0.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tidegate_cosmos.options import DEFAULT_PORT, ConfigError, Options, parse_container
from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY
from tidegate_cosmos.server import CosmosServer, StartError
from tidegate_cosmos.store.account import RANGES_MAX

_PORTS = 65_535
_DESCRIPTION = (
    "An Azure Cosmos DB for laptops and tests: items, leases and the change feed over the real "
    "REST interface, no account, up in a second."
)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tidegate-cosmos: {message}. See {self.prog} --help.\n")


def _within(least: int, most: int, what: str) -> Callable[[str], int]:
    """A reader of a whole number that says what it expected."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most):
            raise argparse.ArgumentTypeError(
                f"expected {what} from {least} to {most}, found {text!r:.60}"
            )
        return int(text)

    return number


_port = _within(0, _PORTS, "a port")


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="tidegate-cosmos", description=_DESCRIPTION)
    commands = top.add_subparsers(dest="command", required=True, metavar="serve")
    serve = commands.add_parser("serve", help="run a server", description=_DESCRIPTION)
    add = serve.add_argument
    add(
        "--container",
        action="append",
        default=[],
        metavar="DATABASE/CONTAINER:/KEY[:RANGES]",
        help="a container to make; may be given more than once. Clients can make them as well",
    )
    add("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    add(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help="HTTP; 0 takes any free port (default: %(default)s)",
    )
    add(
        "--ranges",
        type=_within(1, RANGES_MAX, "a number"),
        default=1,
        help="physical partitions of a container where nothing else says (default: %(default)s)",
    )
    add("--key-value", default=WELL_KNOWN_KEY, help="the account's key (default: the emulator's)")
    add("--no-check", action="store_true", help="take requests that are not signed with the key")
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="keep everything here; without it, it is gone when the server ends",
    )
    add("--admin-port", type=_port, help="the admin API; off by default")
    add(
        "--admin-host",
        default="127.0.0.1",
        help="the address the admin API listens on (default: %(default)s)",
    )
    return top


def options_of(arguments: argparse.Namespace) -> Options:
    """The server's options. Raises ConfigError."""
    return Options(
        containers=tuple(parse_container(text) for text in arguments.container),
        host=arguments.host,
        port=arguments.port,
        admin_port=arguments.admin_port,
        admin_host=arguments.admin_host,
        data_directory=arguments.data,
        key=arguments.key_value,
        is_checked=not arguments.no_check,
        ranges=arguments.ranges,
    )


async def serve(options: Options) -> None:
    """Runs a server until it is told to stop, be it while it starts."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    server = CosmosServer(options, report=lambda line: print(line, file=sys.stderr, flush=True))
    await server.start()
    for database in server.service.account.databases.values():
        for container in database.containers.values():
            print(f"container {database.id}/{container.id}: {len(container.ranges)} ranges")
    print(f"connection string: {server.connection_string}")
    if server.admin_port is not None:
        print(f"admin: http://{options.admin_host}:{server.admin_port}/")
    print("ready; Ctrl-C stops it", flush=True)
    await stopped.wait()
    await server.stop()


def main() -> None:
    try:
        asyncio.run(serve(options_of(parser().parse_args())))
    except (ConfigError, StartError) as error:
        print(f"tidegate-cosmos: {error}", file=sys.stderr)
        sys.exit(2)
