"""The demo: the scenario of the design on this machine, until Ctrl-C or for DEMO_SECONDS.

`tidegate up`, or with --cluster a cluster of kind, with a hub, storage and the groups `alarms` and
`activity`; simulated homes; the residents' page and the console. Variables: HOMES, SEED, ENGINE
(spark or python), PAGE_PORT, CONSOLE_PORT, DEMO_SECONDS; DEMO_KILLS=60 kills members at random for
so long, then compares all totals with what the homes have sent, and ends with 1 where one is wrong.

Rules: standard library only; run by the Python of `.venv`. Every program it starts is ended with
it, also on Ctrl-C, SIGTERM and a closed terminal: homes, pages, then the groups, cleanly. It begins
with nothing each time: what it keeps is below .tools/demo, and goes with it, or with the next one
where it was killed. 0 is a clean end.
"""

from __future__ import annotations

import json
import random
import secrets
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from demo_cluster import ClusterPlace
from demo_keys import keys
from demo_local import LocalPlace
from demo_programs import EXAMPLE, DemoError, Program, show, surroundings
from demo_settings import READY_S, Settings, new_folder
from demo_spark import GoingOver

DRAINED_S, WRITTEN_S = 240.0, 60.0
# The code of `homes check` where a total is wrong; any other says that it could not compare.
NOT_EXACT = 3
LINE_EVERY_S = 5.0
HOMES_SHOWN = (17, 4, 170)
HELP = """\
keys:  c  a carbon monoxide sensor for every home     b  a burst: six times as much, for a minute
       a  glass breaks in the first home shown        k  kill a member, as a crash would
       p  pause `alarms`, and resume it               q  end, as Ctrl-C does"""


class EndRequest(BaseException):
    """Somebody asked the demo to end: Ctrl-C, SIGTERM, or a closed terminal."""


class Demo:
    """See the module."""

    def __init__(self, settings: Settings, folder: Path, *, is_on_cluster: bool) -> None:
        self._settings = settings
        self._folder = folder
        self._place: LocalPlace | ClusterPlace
        self._place = (ClusterPlace if is_on_cluster else LocalPlace)(settings, folder)
        self._groups = self._place.groups
        self._programs: list[Program] = []
        self._going_over: GoingOver | None = None
        self._dice = random.Random(settings.seed)
        self._stands: dict[str, object] = {}
        self._is_asked_to_end = False

    # --- its parts

    def start(self) -> None:
        """Raises DemoError."""
        begun, settings = time.monotonic(), self._settings
        homes = settings.homes or self._fitting()
        show(f"demo: SEED={settings.seed} HOMES={homes} ENGINE={settings.engine} do it again")
        storage, events = self._place.start(self._programs, homes)
        python, key = sys.executable, secrets.token_urlsafe(32)
        pages = self._pages = surroundings(STORAGE=storage, RESIDENTS_KEY=key)
        page, self._page = (
            f"127.0.0.1:{settings.page_port}",
            f"http://127.0.0.1:{settings.page_port}",
        )
        serve = (python, "-m", "residents", "serve", "--listen", page)
        residents = Program("the residents' page", serve, _nobody, pages, EXAMPLE)
        self._programs.append(residents)
        live = (python, "-m", "homes", "live", "--homes", str(homes), "--seed", str(settings.seed))
        sender = surroundings(TIDEGATE_EVENTS_CONNECTION_STRING=events)
        self._homes = Program("homes", live, self._hear_homes, sender, EXAMPLE)
        self._programs.append(self._homes)
        residents.until_said("serving at", READY_S)
        self._show_where(page, pages, homes)
        show(f"demo: everything runs, {time.monotonic() - begun:.1f} s after its start")
        self._going_over = self._place.go_over()
        if self._going_over is not None:
            self._going_over.start()

    def _fitting(self) -> int:
        told = subprocess.run(
            [sys.executable, "-m", "homes", "fit"],
            cwd=EXAMPLE, env=surroundings(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if told.returncode:
            raise DemoError(f"this machine cannot be measured: {told.stderr.strip()}")
        found = json.loads(told.stdout)
        show(
            f"demo: {found['cores']} cores, {found['free_mb']:,} MB of memory free, "
            f"{found['reading_us']} us a reading: {found['homes']:,} homes fit (HOMES=N for others)"
        )
        return int(found["homes"])

    def _show_where(self, page: str, variables: dict[str, str], homes: int) -> None:
        self._place.show()
        shown = [number for number in HOMES_SHOWN if number < homes]
        names = [f"home-{number:06}" for number in shown]
        told = subprocess.run(
            [sys.executable, "-m", "residents", "link", *names, "--days", "1",
             "--base", f"http://{page}"],
            cwd=EXAMPLE, env=variables, capture_output=True, text=True, check=True,
        )  # fmt: skip
        for number, link in zip(shown, told.stdout.split(), strict=True):
            show(f"demo: home {number:<10}  {link}")
        show(HELP)

    # --- while it runs

    def _hear_homes(self, line: str) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            show(f"homes: {line}")
            return
        self._stands |= told

    def press(self, key: str) -> None:
        """What a key does."""
        try:
            self._press(key)
        except (DemoError, OSError) as problem:
            show(f"demo: {problem}")

    def _press(self, key: str) -> None:
        if key in ("c", "b", "a"):
            word = {"c": "carbon-monoxide", "b": "burst", "a": f"alarm {HOMES_SHOWN[0]}"}[key]
            self._homes.tell(word)
            show(f"demo: {word}")
        elif key == "k":
            name = self._groups.kill_one(self._dice)
            show(f"demo: {name} is killed" if name else "demo: there is no member to kill")
        elif key == "p":
            paused = self._groups.toggle_pause("alarms")
            show("demo: alarms is paused" if paused else "demo: alarms goes on")
        elif key == "q":
            self._is_asked_to_end = True
        elif not key.isspace():
            show(HELP)

    def watch(self, until: float | None) -> None:
        """Until then, or for ever; fails when a program ends before it."""
        line_at = time.monotonic() + LINE_EVERY_S
        while (until is None or time.monotonic() < until) and not self._is_asked_to_end:
            for program in self._programs:
                if not program.is_running:
                    raise program.failure()
            if time.monotonic() >= line_at:
                line_at += LINE_EVERY_S
                show(self._line())
            time.sleep(0.1)

    def _line(self) -> str:
        stands = self._stands
        return (
            f"{time.strftime('%H:%M:%S')}  it is {stands.get('clock', '?')} in "
            f"{stands.get('homes', 0):,} homes with {stands.get('kinds', 0)} sensors: "
            f"{stands.get('rate', 0):,} readings/s, {stands.get('sent', 0):,} sent   "
            f"{self._groups.line()}"
        )

    def kill_for(self, seconds: float) -> None:
        """Members at random; then the truth. Raises DemoError where a total is wrong."""
        until, killed = time.monotonic() + seconds, 0
        while time.monotonic() < until and not self._is_asked_to_end:
            self.watch(min(time.monotonic() + self._dice.uniform(2.0, 8.0), until))
            name = self._groups.kill_one(self._dice)
            killed += bool(name)
            show(f"demo: {name} is killed" if name else "demo: nobody to kill just now")
        truth = self._folder / "truth.json"
        self._programs.remove(self._homes)
        self._until_written(truth)
        show(f"demo: {killed} members were killed; now everything is handled, and then compared")
        if not self._until_drained():
            return
        told = subprocess.run(
            [sys.executable, "-m", "homes", "check", str(truth), "--pages", self._page],
            cwd=EXAMPLE, env=self._pages, capture_output=True, text=True, check=False,
        )  # fmt: skip
        for line in f"{told.stdout}{told.stderr}".splitlines():
            show(f"demo: {line}")
        if told.returncode == NOT_EXACT:
            raise DemoError(f"not every total is what was sent; SEED={self._settings.seed}")
        if told.returncode:
            raise DemoError("the totals cannot be compared: the line above says why")

    def _until_written(self, truth: Path) -> None:
        """The homes have said all, and written down what that was. Raises DemoError."""
        until = time.monotonic() + WRITTEN_S
        try:
            self._homes.tell(f"end {truth}")
            while self._homes.is_running and not self._is_asked_to_end:
                if time.monotonic() > until:
                    raise DemoError(f"the homes have not ended after {WRITTEN_S:.0f} s")
                self.watch(time.monotonic() + 0.2)
            if self._homes.process.poll():
                raise self._homes.failure()
        finally:
            self._homes.end()

    def _until_drained(self) -> bool:
        """Whether that was waited for: somebody may ask for the end before. Raises DemoError."""
        until = time.monotonic() + DRAINED_S
        drained_at: float | None = None
        # What the status says is some seconds old.
        while not self._is_asked_to_end and (
            drained_at is None or time.monotonic() - drained_at < LINE_EVERY_S
        ):
            if time.monotonic() > until:
                raise DemoError(f"events still wait after {DRAINED_S:.0f} s: {self._line()}")
            self.watch(time.monotonic() + 1.0)
            now = time.monotonic()
            drained_at = (drained_at or now) if self._groups.is_drained() else None
        return not self._is_asked_to_end

    def end(self) -> bool:
        """Everything, in the order of the module. Whether all of it ended well."""
        if self._going_over is not None:
            self._going_over.end()
        self._place.close()
        ended_well = [program.end() for program in reversed(self._programs)]
        return all(ended_well)


def _nobody(_line: str) -> None:
    """What the page's server says is only of interest where it ends."""


def run(demo: Demo, settings: Settings) -> None:
    """All of it, until its end. Raises DemoError, EndRequest."""
    demo.start()
    with keys(demo.press):
        if settings.kills_s is not None:
            demo.kill_for(settings.kills_s)
            return
        until = None if settings.seconds is None else time.monotonic() + settings.seconds
        demo.watch(until)


def main() -> int:
    """Run the demo; 0 after a clean end."""

    def ask_to_end(_number: int, _frame: FrameType | None) -> None:
        raise EndRequest

    asked = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in asked:
        signal.signal(number, ask_to_end)
    failure, ended_well = "", True
    with ExitStack() as stack:
        demo: Demo | None = None
        try:
            settings = Settings.read()
            demo = Demo(
                settings, new_folder(stack, settings), is_on_cluster="--cluster" in sys.argv[1:]
            )
            run(demo, settings)
        except EndRequest:
            show("\ndemo: ending")
        except DemoError as error:
            failure = str(error)
        for number in asked:
            signal.signal(number, signal.SIG_IGN)  # a second Ctrl-C must not leave programs behind
        if demo is not None:
            ended_well = demo.end()
    if failure:
        show(f"demo: {failure}")
        return 1
    show("demo: everything has ended")
    return 0 if ended_well else 1


if __name__ == "__main__":
    sys.exit(main())
