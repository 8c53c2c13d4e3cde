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
# What the group and everybody else may do with a file of keys: nothing. A Secret that is mounted in
# a pod is its group's to read.
_OTHERS = 0o007


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
    key = commands.add_parser("key", help="make a new key")
    key.add_argument(
        "--to", type=Path, metavar="FILE",
        help="a new file, which its owner alone may read (else: it is printed)",
    )  # fmt: skip
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
        _make_key(arguments.to)
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


def _make_key(to: Path | None) -> None:
    """Raises OSError where the file is there already: links of its keys would end."""
    key = f"{secrets.token_urlsafe(32)}\n"
    if to is None:
        print(key, end="")
        return
    with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as target:
        target.write(key)


def _keys(file: Path | None, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    if file is not None:
        with file.open(encoding="utf-8") as source:
            if os.fstat(source.fileno()).st_mode & _OTHERS:
                raise KeyUnusable(
                    f"{file} can be read by others than its owner, who could make links to every "
                    f"home: chmod 600 {file}, or write a new one with `residents key --to FILE`"
                )
            return keys_of(source.read())
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
