"""The command line: `python -m homes fit|live|check`.

Rules: secrets come from the environment. What is wrong is one line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from homes.asking import PageError, shown_to
from homes.checking import Totals, report, totals_in, truth_in
from homes.fitting import measure
from homes.living import Living
from homes.world import Plan
from residents.links import keys_of
from tidegate.ledger.access import BlobSettings
from tidegate.sending.sending import SendError
from tidegate.settings import EVENTS_SECRET, SettingsError
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.shape import SliceError

STORAGE, KEY = "STORAGE", "RESIDENTS_KEY"
PAGES_ASKED = 20
# Totals are wrong: apart from all that keeps them from being compared.
NOT_EXACT = 3


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(prog="homes", description="Simulated homes with sensors.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("fit", help="measure how many homes this machine can have")
    live = commands.add_parser("live", help=f"send, to the hub of {EVENTS_SECRET}")
    live.add_argument("--hub", default="telemetry", help="(default: %(default)s)")
    live.add_argument("--homes", type=int, default=1_000, help="(default: %(default)s)")
    live.add_argument("--seed", type=int, help="of the world (default: any; printed)")
    live.add_argument(
        "--period-s", type=float, default=60.0, metavar="S",
        help="each home reads its sensors so often, when it is calm (default: %(default)g)",
    )  # fmt: skip
    live.add_argument(
        "--day-s", type=float, default=480.0, metavar="S",
        help="a day of the homes takes so long (default: %(default)g)",
    )  # fmt: skip
    check = commands.add_parser("check", help=f"compare the slices in {STORAGE} with the truth")
    check.add_argument("truth", type=Path, help="as `live` has written it, told `truth FILE`")
    check.add_argument("--container", default="slices")
    check.add_argument("--prefix", default="home-security/activity")
    check.add_argument(
        "--pages", metavar="URL",
        help=f"also what the pages of {PAGES_ASKED} homes show; their links are signed by {KEY}",
    )  # fmt: skip
    return top


def main(given: Sequence[str] | None = None) -> int:
    """Carries out what the arguments say."""
    arguments = parser().parse_args(given)
    try:
        if arguments.command == "fit":
            print(json.dumps(measure()))
            return 0
        if arguments.command == "live":
            return asyncio.run(_live(arguments))
        return asyncio.run(_check(arguments))
    except (KeyError, PageError, SendError, SettingsError, SliceError, OSError) as problem:
        said = f"set {problem.args[0]}" if isinstance(problem, KeyError) else problem
        print(f"homes: {said}", file=sys.stderr)
        return 1


async def _live(arguments: argparse.Namespace) -> int:
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    plan = Plan(arguments.homes, seed, arguments.period_s, arguments.day_s)
    print(json.dumps({"seed": seed, "homes": plan.homes}), flush=True)
    await Living(plan, os.environ[EVENTS_SECRET], arguments.hub).run()
    return 0


async def _check(arguments: argparse.Namespace) -> int:
    settings = BlobSettings(arguments.container, connection_string=os.environ[STORAGE]).checked()
    blobs = SliceBlobs(settings, arguments.prefix)
    names, truth = truth_in(arguments.truth)
    try:
        found = await totals_in(blobs, names)
    finally:
        await blobs.close()
    text, is_well = report(truth, found)
    print(text)
    if arguments.pages is not None:
        is_well &= await _check_pages(arguments.pages, names, truth)
    return 0 if is_well else NOT_EXACT


async def _check_pages(base: str, names: Sequence[str], truth: Totals) -> bool:
    """Whether pages show the same. Homes with alarms first, then others from all of them."""
    with_alarms = sorted({home for (home, _), (_, alarms) in truth.items() if alarms})
    some = names[:: max(len(names) // PAGES_ASKED, 1)]
    asked = list(dict.fromkeys((*with_alarms[: PAGES_ASKED // 2], *some)))[:PAGES_ASKED]
    expected = {place: each for place, each in truth.items() if place[0] in asked}
    key = keys_of(os.environ[KEY])[0]
    text, is_well = report(expected, await shown_to(base, key, asked, expected))
    print(f"on the pages of {len(asked)} homes {text}")
    return is_well


if __name__ == "__main__":
    sys.exit(main())
