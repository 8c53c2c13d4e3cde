"""The command line: `python -m residents serve|link|key`.

Rules: secrets come from files or the environment, never from arguments, which other users of a
machine can read. What is wrong is one line.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from residents.following import POLL_S, Follower
from residents.links import KeyUnusable, Link, keys_of, token_of
from residents.serving import ResidentsPage
from tidegate.ledger.access import BlobSettings
from tidegate.ops.serving import Address, listen
from tidegate.settings import SettingsError
from tidegate.slices.blobs import SliceBlobs

KEY, STORAGE = "RESIDENTS_KEY", "STORAGE"
_DAY_S = 86_400


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(prog="residents", description="The residents' page.")
    commands = top.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve the page until SIGTERM or Ctrl-C")
    serve.add_argument("--container", default="slices", help="(default: %(default)s)")
    serve.add_argument(
        "--prefix", default="home-security/activity", help="of the slices (default: %(default)s)"
    )
    serve.add_argument(
        "--listen", default="127.0.0.1:8090", metavar="[HOST:]PORT", help="(default: %(default)s)"
    )
    serve.add_argument(
        "--poll-s", type=float, default=POLL_S, metavar="S",
        help="how often to look for what is new (default: %(default)g)",
    )  # fmt: skip
    link = commands.add_parser("link", help="print links: each opens the page of one home")
    link.add_argument("homes", nargs="+", metavar="HOME", help="such as home-000017")
    link.add_argument("--days", type=float, default=30.0, help="it opens so long (default: 30)")
    link.add_argument(
        "--base", default="http://127.0.0.1:8090", metavar="URL",
        help="where the page is served (default: %(default)s)",
    )  # fmt: skip
    for command in (serve, link):
        command.add_argument(
            "--key-file", type=Path, metavar="FILE",
            help=f"the keys of the links, one a line, the one that signs first (else: {KEY})",
        )  # fmt: skip
    commands.add_parser("key", help="print a new key")
    return top


def link_text(keys: Sequence[bytes], home: str, until: int, base: str) -> str:
    """The whole link."""
    return f"{base.rstrip('/')}/h/{token_of(keys[0], Link(home, until))}"


def main(given: Sequence[str] | None = None) -> int:
    """Carries out what the arguments say."""
    arguments = parser().parse_args(given)
    try:
        return _carry_out(arguments, os.environ)
    except (KeyUnusable, SettingsError, OSError) as problem:
        print(f"residents: {problem}", file=sys.stderr)
        return 78


def _carry_out(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if arguments.command == "key":
        print(secrets.token_urlsafe(32))
        return 0
    keys = _keys(arguments.key_file, environment)
    if arguments.command == "link":
        until = int(time.time() + arguments.days * _DAY_S)
        for home in arguments.homes:
            print(link_text(keys, home, until, arguments.base))
        return 0
    if not environment.get(STORAGE):
        raise SettingsError(f"set {STORAGE} to the connection string of the storage account")
    settings = BlobSettings(arguments.container, connection_string=environment[STORAGE]).checked()
    address = Address.parse(arguments.listen)
    asyncio.run(serve(settings, arguments.prefix, address, keys, arguments.poll_s))
    return 0


def _keys(file: Path | None, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    if file is not None:
        return keys_of(file.read_text(encoding="utf-8"))
    if not environment.get(KEY):
        raise SettingsError(f"set {KEY}, or give --key-file: `python -m residents key` makes one")
    return keys_of(environment[KEY])


async def serve(
    settings: BlobSettings, prefix: str, address: Address, keys: Sequence[bytes], poll_s: float
) -> None:
    """Until SIGTERM or Ctrl-C."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    blobs = SliceBlobs(settings, prefix)
    follower = Follower(blobs, time.time, poll_s)
    following = asyncio.create_task(follower.run(), name="following")
    stopping = asyncio.create_task(stopped.wait(), name="stopping")
    endpoints = await listen(
        ResidentsPage(follower, keys, time.time).app(), address, "the residents' page"
    )
    print(f"residents: serving at {endpoints.url}", flush=True)
    try:
        await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        await endpoints.close()
        following.cancel()
        await asyncio.wait({following})
        await blobs.close()
    if not following.cancelled():
        following.result()


if __name__ == "__main__":
    sys.exit(main())
