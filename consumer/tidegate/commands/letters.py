"""`tidegate deadletters list|show|replay group.yaml`: the events that were put aside.

Rules: a replay gives an event to the handler of the group file, here in this process; or, with
`--to-hub`, sends it to the group's hub again, where every group that reads it sees a new event. A
letter whose replay succeeded is removed; one that failed stays. Lines that a handler prints go to
standard error, because standard output has the results.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate.commands import wiring
from tidegate.commands.codes import Code
from tidegate.dead_letters.kept import KeptLetters, Listed
from tidegate.dead_letters.replayed import replayed
from tidegate.delivery.letters import DeadLetter, encode_letter
from tidegate.delivery.state import State, StateError
from tidegate.error_text import said
from tidegate.group_file.spark_spec import EngineKind
from tidegate.handlers.blame import CallFailedError
from tidegate.handlers.calls import Calls
from tidegate.handlers.context import About, Context
from tidegate.handlers.loading import UserCode, load
from tidegate.handlers.threads import Threads
from tidegate.ops.live import UNBOUNDED, clip
from tidegate.settings import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate deadletters` takes."""
    parser.description = "The events that the handler could not take, with `onFailure: deadLetter`."
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument(
        "--file", type=Path, required=True, metavar="GROUP.YAML", help="the group file"
    )
    add_actions(parser, where)


def add_actions(parser: argparse.ArgumentParser, where: argparse.ArgumentParser) -> None:
    """What there is to do; `where` has the arguments that say with which group."""
    actions = parser.add_subparsers(dest="action", required=True)

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=text, description=text, parents=[where])

    listing = action("list", "all of them, with their errors")
    listing.add_argument("--partition", default="", help="only those of this partition")
    listing.add_argument("--json", action="store_true", help="a JSON object a line")
    show = action("show", "one of them, whole")
    show.add_argument("id", help="PARTITION/SEQUENCE, as `list` shows it")
    replay = action("replay", "handle them again, and remove what succeeds")
    replay.add_argument("ids", nargs="*", metavar="ID", help="PARTITION/SEQUENCE")
    replay.add_argument("--all", action="store_true", help="all of them")
    replay.add_argument(
        "--to-hub",
        action="store_true",
        help="send them to the hub again, rather than to the handler here: all groups see them",
    )
    replay.add_argument("--keep", action="store_true", help="do not remove what succeeded")
    replay.add_argument("--json", action="store_true", help="a JSON object a line")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Raises SettingsError and DeadLetterError."""
    setup = wiring.set_up(arguments.file, environment, runs_code=False)
    return asyncio.run(carry_out(setup, arguments))


async def carry_out(setup: wiring.Setup, arguments: argparse.Namespace) -> int:
    """What the arguments of `add_actions` say. Raises SettingsError and DeadLetterError."""
    letters = wiring.kept_letters(setup)
    try:
        if arguments.action == "list":
            found = await letters.list(arguments.partition)
            for line in _listed(found, as_json=arguments.json):
                print(line)
            return Code.DONE
        if arguments.action == "show":
            print(encode_letter(await letters.read(arguments.id)).decode())
            return Code.DONE
        ids = arguments.ids
        if arguments.all:
            ids = [letter.id for letter in await letters.list()]
        elif not ids:
            raise SettingsError("name the dead letters to replay, or write --all")
        return await _replay(setup, letters, ids, arguments)
    finally:
        await letters.close()


def _listed(found: Sequence[Listed], *, as_json: bool) -> Iterator[str]:
    """A line each; for people nothing that a terminal would obey."""
    width = max((len(letter.id) for letter in found), default=0)
    for letter in found:
        at = _time(letter.put_aside_at)
        if as_json:
            yield _line(
                id=letter.id,
                putAsideAt=at,
                attempts=letter.attempts,
                bytes=letter.size,
                error=letter.error,
            )
        else:
            text = f"{letter.id:<{width}}  {at}  {letter.attempts} attempts  {letter.error}"
            yield clip(text, UNBOUNDED)
    if not found and not as_json:
        yield "no dead letters"


def _line(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


async def _replay(
    setup: wiring.Setup, letters: KeptLetters, ids: Sequence[str], arguments: argparse.Namespace
) -> int:
    failed = False
    async with AsyncExitStack() as stack:
        again = await _way(setup, stack, to_hub=arguments.to_hub)
        for id in ids:
            letter = await letters.read(id)
            try:
                await again(letter)
            except Exception as error:
                failed = True
                why = error.raised.said if isinstance(error, CallFailedError) else said(error)
                if arguments.json:
                    print(_line(id=id, done=False, error=why), flush=True)
                print(f"{id}: failed again, and stays: {why}", file=sys.stderr)
                continue
            if not arguments.keep:
                await letters.remove(id)
            print(_line(id=id, done=True) if arguments.json else f"{id}: done", flush=True)
    return Code.FAILED if failed else Code.DONE


async def _way(setup: wiring.Setup, stack: AsyncExitStack, *, to_hub: bool) -> Any:
    if to_hub:
        if setup.group.spec.source.cosmos is not None:
            raise SettingsError(
                "this group reads a container, and --to-hub sends to a hub: leave it out, so that "
                "the handler is given the change here"
            )
        # Imported here: only who sends pays the time that the SDK's import takes.
        from tidegate.dead_letters.hub import HubLetters  # noqa: PLC0415

        hub = HubLetters(setup.address, setup.hub, says_why=False)
        stack.push_async_callback(hub.close)
        return hub.put
    named = setup.group.spec.handler.code
    if setup.group.engine is EngineKind.SPARK or not named:
        raise SettingsError(
            "this group has no handler to give an event to, because Spark reads it: send the "
            "event to the hub again, with --to-hub"
        )
    with redirect_stdout(sys.stderr):
        replay = _Replay(setup, load(named, setup.folder))

    async def again(letter: DeadLetter) -> None:
        with redirect_stdout(sys.stderr):
            await replay.again(letter)

    return again


class _Replay:
    """Gives events to the handler of the group file, outside of any group."""

    def __init__(self, setup: wiring.Setup, code: UserCode) -> None:
        self._setup = setup
        self._code = code
        self._threads = Threads()

    async def again(self, letter: DeadLetter) -> None:
        """Raises CallFailedError and HungError."""
        setup, policy = self._setup, self._setup.group.spec.delivery
        about = About("replay", setup.group.name, setup.hub)
        context = Context(about, letter.partition, 0, letter.position, _no_state, time.time)
        feed = setup.group.spec.source.cosmos
        event = replayed(letter, feed.mode if feed is not None else None)
        context._begin((event,), 1)
        calls = Calls(
            "the handler",
            lambda: self._threads.of(letter.partition),
            policy.timeout_s,
            policy.told_s,
            context._cancel,
            context._give_up,
            time.monotonic,
        )
        await calls.run(self._code.handle, event if self._code.takes_one else [event], context)


def _no_state() -> State:
    raise StateError(
        "a replay has no context.state, which is its owner's: send the event to the hub again "
        "with --to-hub"
    )
