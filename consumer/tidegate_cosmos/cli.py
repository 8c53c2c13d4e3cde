"""The command line: `tidegate-cosmos serve …`.

Rules: what is wrong is said in one line on standard error with what was expected, and the exit code
is 2; Ctrl-C, SIGTERM and SIGHUP stop the server cleanly with 0.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from tidegate_cosmos.options import DEFAULT_PORT, ConfigError, Options, parse_container
from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY
from tidegate_cosmos.server import CosmosServer, StartError
from tidegate_cosmos.store.account import RANGES_MAX
from tidegate_http.options import Parser, add_addresses, add_admin, add_version, number
from tidegate_http.output import standard_output
from tidegate_http.serving import until_stopped

_DESCRIPTION = (
    "An Azure Cosmos DB for laptops and tests: items, leases and the change feed over the real "
    "REST interface, no account, up in a second."
)


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="tidegate-cosmos", description=_DESCRIPTION)
    add_version(top)
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
    add_addresses(add, "HTTP", DEFAULT_PORT)
    add(
        "--ranges",
        type=number(int, f"a number from 1 to {RANGES_MAX}", 1, RANGES_MAX),
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
    add_admin(add, "the admin API")
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
    """Runs a server until it is told to stop."""
    server = CosmosServer(options, report=lambda line: print(line, file=sys.stderr, flush=True))

    def told() -> Iterator[str]:
        for database in server.service.account.databases.values():
            for container in database.containers.values():
                yield f"container {database.id}/{container.id}: {len(container.ranges)} ranges"
        yield f"connection string: {server.connection_string}"
        if server.admin_port is not None:
            yield f"admin: http://{options.admin_host}:{server.admin_port}/"

    await until_stopped(server, told)


def main() -> None:
    with standard_output("tidegate-cosmos"):
        _run()


def _run() -> None:
    try:
        asyncio.run(serve(options_of(parser().parse_args())))
    except (ConfigError, StartError) as error:
        print(f"tidegate-cosmos: {error}", file=sys.stderr)
        sys.exit(2)
