"""`tidegate send`: events from standard input, or from generated sensors, to a hub.

Rules: the connection string comes from the environment, never from an argument; who names the
namespace is let in by an identity, and no connection string is looked at. What was sent is said on
standard error at the end, also after Ctrl-C; the exit code is 0 only if the service has everything
that was read. Exit codes: 0 all is sent, 1 something was not, 2 the command cannot be carried out
as it was written.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from tidegate.commands.arguments import above_zero, count, seed
from tidegate.ops.secrets import Secrets
from tidegate.sending.feeding import Lines, from_input, from_world
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import LineError, Outgoing
from tidegate.sending.sdk import SdkSender
from tidegate.sending.sending import Sender, SendError
from tidegate.sending.sensors import KINDS, world
from tidegate.settings import EVENTS_SECRET

Say = Callable[[str], None]

SENT, NOT_SENT, MISUSED = 0, 1, 2
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]+)?")

_DESCRIPTION = f"""\
Sends each line of standard input as an event, or readings of generated sensors. The connection
string of the namespace or hub is taken from the environment variable {EVENTS_SECRET}, unless
--namespace is written: then the identity of this machine is used."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `tidegate send` takes."""
    parser.description = _DESCRIPTION
    parser.add_argument("--hub", required=True, help="the event hub to send to")
    parser.add_argument(
        "--namespace",
        metavar="HOST",
        help="such as NAME.servicebus.windows.net, with the identity that azure-identity finds "
        "here; it needs the role 'Azure Event Hubs Data Sender'",
    )
    parser.add_argument(
        "--transport",
        choices=("native", "sdk"),
        default="native",
        help="our own AMQP, or the official SDK (default: native)",
    )
    lines = parser.add_argument_group("from standard input")
    lines.add_argument(
        "--json",
        action="store_true",
        help='each line is {"body": ..., "key": "...", "properties": {...}, "partition": "..."}; '
        "only body is needed",
    )
    sensors = parser.add_argument_group("generated sensors")
    sensors.add_argument(
        "--homes", type=count, help=f"send readings of so many homes, {len(KINDS)} sensors in each"
    )
    sensors.add_argument(
        "--rate", type=above_zero, help="events a second (default: as many as can be)"
    )
    sensors.add_argument("--count", type=count, help="stop after so many events")
    sensors.add_argument("--seconds", type=above_zero, help="stop after so long")
    sensors.add_argument("--seed", type=seed, help="of the generated world (default: any; printed)")


def run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Carries the command out; gives the exit code."""
    secret = "" if arguments.namespace else environment.get(EVENTS_SECRET, "")
    hidden = Secrets([secret])

    def say(text: str) -> None:
        print(f"tidegate send: {hidden.hide(text)}", file=sys.stderr, flush=True)

    problem = _misuse(arguments, secret)
    if problem:
        say(problem)
        return MISUSED
    return asyncio.run(_send(arguments, secret, say))


def _misuse(arguments: argparse.Namespace, secret: str) -> str:
    """What cannot be carried out as it was written, or nothing."""
    if not secret and not arguments.namespace:
        return (
            f"set {EVENTS_SECRET} to the connection string of the namespace or of the hub, or "
            "write --namespace HOST to use an identity"
        )
    if arguments.namespace and not _HOST.fullmatch(arguments.namespace):
        return (
            "--namespace: write the host name alone, such as NAME.servicebus.windows.net; a "
            "connection string goes into the environment"
        )
    for name in ("rate", "count", "seconds", "seed"):
        if getattr(arguments, name) is not None and arguments.homes is None:
            return f"--{name} is for generated sensors: write --homes too"
    if arguments.json and arguments.homes is not None:
        return "--json is for standard input, which --homes does not read"
    return ""


async def _send(arguments: argparse.Namespace, secret: str, say: Say) -> int:
    if not arguments.namespace:
        return await _send_by(arguments, secret, None, say)
    # Imported here: only who uses an identity pays the time that this import takes.
    from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

    async with DefaultAzureCredential() as credential:
        return await _send_by(arguments, arguments.namespace, credential, say)


async def _send_by(arguments: argparse.Namespace, address: str, credential: Any, say: Say) -> int:
    try:
        sender = _sender(arguments, address, credential)
    except ValueError as error:
        say(f"{EVENTS_SECRET}: {error}")
        return MISUSED
    begun, stopped = time.monotonic(), asyncio.Event()
    feed = _events(arguments, say)
    sending = asyncio.create_task(_send_all(sender, feed, stopped))

    def on_signal() -> None:
        if stopped.is_set():
            sending.cancel()
        stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    problem = ""
    await asyncio.wait([sending])
    if sending.cancelled():
        problem = "broken off: what was under way may or may not have arrived"
    elif isinstance(failure := sending.exception(), SendError | LineError):
        problem = str(failure)
    await sender.close()
    seconds = max(time.monotonic() - begun, 1e-9)
    sent = sender.accepted
    say(f"sent {sent:,} events in {seconds:.1f} s ({sent / seconds:,.0f}/s)")
    if problem:
        say(problem)
        return NOT_SENT
    sending.result()
    return SENT


def _sender(arguments: argparse.Namespace, address: str, credential: Any) -> Sender:
    sender = SdkSender if arguments.transport == "sdk" else NativeSender
    return sender(address, arguments.hub, credential)


def _events(arguments: argparse.Namespace, say: Say) -> AsyncIterator[Sequence[Outgoing]]:
    if not arguments.homes:
        return from_input(sys.stdin.fileno(), Lines(is_json=arguments.json))
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    until = None if arguments.seconds is None else time.monotonic() + arguments.seconds
    say(f"{arguments.homes} homes with {len(KINDS)} sensors each; --seed {seed} sends them again")
    events = world(arguments.homes, random.Random(seed).random, time.time)
    return from_world(events, arguments.rate, arguments.count, until)


async def _send_all(
    sender: Sender, feed: AsyncIterator[Sequence[Outgoing]], stopped: asyncio.Event
) -> None:
    """Sends what comes until there is no more, or a stop is asked for. Raises as they do."""
    stop = asyncio.create_task(stopped.wait())
    problem: LineError | None = None
    try:
        while not stop.done():
            coming = asyncio.ensure_future(anext(feed))
            await asyncio.wait([coming, stop], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                break
            try:
                await sender.send(coming.result())
            except StopAsyncIteration:
                break
            except LineError as error:
                problem = error
                break
        await sender.flush()
    finally:
        stop.cancel()
    if problem is not None:
        raise problem
