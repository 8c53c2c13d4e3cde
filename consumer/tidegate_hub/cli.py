"""The command line: `tidegate-hub serve …`.

Rules: what is wrong is said in one line on standard error with what was expected, and the exit code
is 2; Ctrl-C, SIGTERM and SIGHUP stop the server cleanly with 0.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from tidegate_http.options import Parser, add_addresses, add_admin, add_version, number, port
from tidegate_http.output import standard_output
from tidegate_http.serving import until_stopped
from tidegate_hub.config import HubSpec, combine, parse_config, parse_hub
from tidegate_hub.config_json import ConfigError
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME
from tidegate_hub.options import DEFAULT_PORT, Options
from tidegate_hub.server import HubServer, StartError
from tidegate_hub.storage.errors import StorageError
from tidegate_hub.storage.retention import Retention

_MIB = 1 << 20
_DESCRIPTION = "An Azure Event Hubs for laptops and tests: real AMQP, no account, up in a second."
_DEFAULT_HUB = "telemetry:16"


_megabytes = number(int, "a whole number of megabytes from 1", 1, 1 << 40)
_hours = number(float, "a number of hours above 0", 1e-9, 1e9)


def parser() -> argparse.ArgumentParser:
    top = Parser(prog="tidegate-hub", description=_DESCRIPTION)
    add_version(top)
    commands = top.add_subparsers(dest="command", required=True, metavar="serve")
    serve = commands.add_parser("serve", help="run a hub server", description=_DESCRIPTION)
    add = serve.add_argument
    add(
        "--hub",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:GROUP,GROUP]]",
        help="a hub to serve; may be given more than once (default: telemetry:16)",
    )
    add("--config", type=Path, metavar="FILE", help="hubs from a Config.json of the emulator")
    add_addresses(add, "AMQP, plain or over WebSockets", DEFAULT_PORT)
    add("--tls-port", type=port, help="the same with TLS; needs --cert and --key")
    add("--cert", type=Path, metavar="FILE", help="the certificate chain in PEM form")
    add("--key", type=Path, metavar="FILE", help="its private key in PEM form")
    add("--check-sas", action="store_true", help="refuse tokens that the key did not sign")
    add("--key-name", default=DEFAULT_KEY_NAME, help="the name of the key (default: %(default)s)")
    add("--key-value", default=DEFAULT_KEY, help="the key itself (default: %(default)s)")
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="keep events here; without it they are gone when the server ends",
    )
    add(
        "--fsync",
        choices=("always", "interval", "never"),
        default="interval",
        help="when events are flushed to disk: before each answer, once a second, or when the "
        "system likes (default: %(default)s)",
    )
    add(
        "--memory-mb",
        type=_megabytes,
        default=64,
        metavar="MB",
        help="event bodies beyond this live on disk (default: %(default)s)",
    )
    add("--retention-hours", type=_hours, metavar="H", help="drop events older than this")
    add(
        "--retention-mb",
        type=_megabytes,
        metavar="MB",
        help="keep at most this much of a partition",
    )
    add(
        "--retention-total-mb",
        type=_megabytes,
        metavar="MB",
        help="keep at most this much of all hubs together: the oldest events go first",
    )
    add_admin(add, "the admin API and its page")
    return top


def options_of(arguments: argparse.Namespace) -> Options:
    """The server's options. Raises ConfigError."""
    declared: list[tuple[str, HubSpec]] = []
    if arguments.config is not None:
        declared += [(str(arguments.config), spec) for spec in _read_config(arguments.config)]
    declared += [("--hub", parse_hub(text)) for text in arguments.hub]
    _check_together(arguments)
    hours, size = arguments.retention_hours, arguments.retention_mb
    total = arguments.retention_total_mb
    return Options(
        hubs=tuple(combine(declared)),
        default_hubs=(parse_hub(_DEFAULT_HUB),),
        host=arguments.host,
        port=arguments.port,
        tls_port=arguments.tls_port,
        certificate=arguments.cert,
        private_key=arguments.key,
        admin_port=arguments.admin_port,
        admin_host=arguments.admin_host,
        data_directory=arguments.data,
        fsync=arguments.fsync,
        memory_budget_bytes=arguments.memory_mb * _MIB,
        retention=Retention(
            None if hours is None else int(hours * 3_600_000),
            None if size is None else size * _MIB,
        ),
        total_bytes=None if total is None else total * _MIB,
        is_checked=arguments.check_sas,
        key_name=arguments.key_name,
        key=arguments.key_value,
    )


def _check_together(arguments: argparse.Namespace) -> None:
    """Options that mean nothing without others. Raises ConfigError."""
    files = [name for name in ("cert", "key") if getattr(arguments, name) is not None]
    if arguments.tls_port is None and files:
        raise ConfigError(f"--{files[0]} is given without --tls-port; expected both, or neither")
    if arguments.tls_port is not None and len(files) < 2:
        raise ConfigError("--tls-port needs --cert FILE and --key FILE, both in PEM form")
    for name in files:
        path = getattr(arguments, name)
        if not path.is_file():
            raise ConfigError(f"--{name} {path}: there is no such file")


def _read_config(path: Path) -> tuple[HubSpec, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text") from error
    return tuple(parse_config(text, str(path)))


async def serve(options: Options) -> None:
    """Runs a server until it is told to stop."""
    server = HubServer(options, report=lambda line: print(line, file=sys.stderr, flush=True))

    def told() -> Iterator[str]:
        for hub in server.broker.hubs:
            groups = ", ".join(hub.groups.values())
            yield f"hub {hub.name}: {len(hub.partitions)} partitions, groups {groups}"
        yield f"connection string: {server.connection_string()}"
        if server.tls_port is not None:
            yield f"with TLS: {server.connection_string(tls=True)}"
        if server.admin_port is not None:
            yield f"admin: http://{options.admin_host}:{server.admin_port}/"

    await until_stopped(server, told)


def main() -> None:
    with standard_output("tidegate-hub"):
        _run()


def _run() -> None:
    try:
        asyncio.run(serve(options_of(parser().parse_args())))
    except (ConfigError, StartError, StorageError) as error:
        print(f"tidegate-hub: {error}", file=sys.stderr)
        sys.exit(2)
