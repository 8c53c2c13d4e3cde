"""`tidegate up`: everything that runs groups on this machine, from its start to its clean end.

Rules:
- The operator is the one that runs in clusters, unchanged; all else here is its cluster.
- The end is in the order in which nothing is handled twice: the operator first, then the consumers,
  which write their checkpoints and give their leases back, then hub and storage. Asked a second
  time, all of it ends at once.
- A part that ends by itself ends all of it, cleanly, and says why.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path

from tidegate.commands.codes import Code
from tidegate.commands.last_words import stop_without_a_reader
from tidegate.ops.serving import Address
from tidegate_http.shutdown import SHUTDOWN, Listener
from tidegate_operator.local.admission import admit
from tidegate_operator.local.api import LocalApi, watching
from tidegate_operator.local.commands import LocalCommands, write_group_files
from tidegate_operator.local.controllers import Controllers
from tidegate_operator.local.embedded import Embedded, embedded
from tidegate_operator.local.given import NAMESPACE, Given, read
from tidegate_operator.local.kubelet import Kubelet, Machine
from tidegate_operator.local.places import COSMOS, EVENTS, STORAGE
from tidegate_operator.local.pod_room import Place, room_of
from tidegate_operator.local.refreshing import Refreshing
from tidegate_operator.local.serving import serving
from tidegate_operator.local.state import State
from tidegate_operator.local.store import Store
from tidegate_operator.local.voice import Voice
from tidegate_operator.page.admission import Loopback
from tidegate_operator.page.serving import serve_console
from tidegate_operator.running import Operator
from tidegate_operator.secrets import KnownSecrets
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.wording import counted

# Who writes what the files say.
MANAGER = "tidegate-up"
_IMAGE = "this-machine"
_TICK_S = 2.0
_OURS = {
    EVENTS: "the embedded hub ({})",
    STORAGE: "the embedded storage",
    COSMOS: "the embedded Cosmos DB ({})",
}
# How long the end may take beside that of the consumers: the operator, hub and storage.
_OWN_S = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What `tidegate up` was asked for."""

    files: tuple[Path, ...]
    state: Path
    secrets: Path | None = None
    # Of each hub of the embedded one.
    partitions: int = 16
    log_level: str = "WARNING"
    has_view: bool = True
    # Where the console is served, if it is.
    console: Address | None = None


class Ending:
    """The first signal asks for a clean end, the second for one at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cut = asyncio.Event()

    @contextmanager
    def signals(self) -> Iterator[None]:
        listener = Listener(
            lambda _: self.asked.set(),
            lambda _: self.cut.set(),
            loop=asyncio.get_running_loop(),
        )
        with SHUTDOWN.listening(listener, _OWN_S):
            yield


async def up(options: Options, environment: Mapping[str, str]) -> int:
    """Until it is told to stop. Raises SettingsError, EmbeddedError, KubeError, EndedError."""
    hidden = KnownSecrets()

    def read_files() -> Given:
        found = read(options.files, environment, options.secrets)
        for value in found.secrets.values():
            hidden.learn(value)
        return found

    given = read_files()
    state, ending = State(options.state), Ending()
    voice = Voice(hidden, sys.stdout, options.log_level)
    with state.taken(), ending.signals():
        stop_without_a_reader()
        for note in given.notes:
            voice.say("", note)
        starting = embedded(
            given, state, options.partitions, environment, lambda text: voice.say("", text)
        )
        async with unless_asked(starting, ending.asked) as ours:
            if ours is None:
                return Code.DONE
            _say_where(voice, given, ours, state)
            running = _Running(given, read_files, state, ours, voice, hidden, environment)
            return await running.run(ending, options.console, is_shown=options.has_view)


def _say_where(voice: Voice, given: Given, ours: Embedded, state: State) -> None:
    for what, string in sorted(ours.connections.items()):
        names = sorted(
            {f"{secret}/{key}" for (_, secret, key), is_a in given.embedded.items() if is_a == what}
        )
        has = given.wanted.containers if what == COSMOS else given.wanted.hubs
        said = _OURS[what].format(", ".join(has) or "no hub")
        path = state.write_secret(f"{what}.txt", string)
        voice.say("", f"{said} is for {', '.join(names)}, which no file gives: see {path}")
    for line in ours.told:
        voice.say("", line)
    voice.say("", f"logs of the consumers: {state.logs}")


class _Running:
    """The cluster that this process is, and the operator in it."""

    def __init__(
        self,
        given: Given,
        read_files: Callable[[], Given],
        state: State,
        ours: Embedded,
        voice: Voice,
        hidden: KnownSecrets,
        environment: Mapping[str, str],
    ) -> None:
        self._given, self._state, self._ours, self._voice = given, state, ours, voice
        self._refreshing = Refreshing(
            given, read_files, self._take, lambda text: voice.say("", text)
        )
        self._environment = environment
        self._commands = LocalCommands(state, environment)
        self._store = Store(time.time, lambda: str(uuid.uuid4()), admit)
        place = Place(state.pods, state.logs, tuple(dict.fromkeys(given.search)))
        self._kubelet = Kubelet(
            Machine(
                self._store,
                lambda pod: room_of(pod, place, self._store.find, environment),
                time.monotonic,
                time.time,
                voice.say,
            )
        )
        self._controllers = Controllers(
            self._store, lambda letters, count: "".join(random.choices(letters, k=count))
        )
        settings = OperatorSettings(
            identity=f"{MANAGER}_{uuid.uuid4().hex[:8]}",
            leader_namespace=NAMESPACE,
            image=_IMAGE,
            spark_image=_IMAGE,
            commands=self._commands,
            settled_tick_s=_TICK_S,
            # To look costs nothing here.
            secrets_every_s=_TICK_S,
            missing_every_s=_TICK_S,
        ).checked()
        api = LocalApi(self._store)
        self._operator = Operator(settings, api, api, hidden, watching(self._store))
        self._stop_operator = asyncio.Event()

    def _take(self, given: Given) -> None:
        """Apply the content of the files. Raises KubeError, SettingsError."""
        documents = given.documents(self._ours.connections)
        write_group_files(self._state, documents)
        for document in documents:
            self._store.apply(document, MANAGER)

    async def run(self, ending: Ending, console: Address | None, *, is_shown: bool) -> int:
        """Raises what a part of it ends with by itself, and ServingError."""
        self._store.listen(self._voice.hear)
        async with AsyncExitStack() as stack:
            served = await stack.enter_async_context(
                serving(self._store, secrets.token_urlsafe(24))
            )
            await self._show(console, stack)
            self._state.serve(served)
            self._take(self._given)
            # The kubelet first: it hears of every pod.
            parts = [
                asyncio.create_task(self._kubelet.run(), name="kubelet"),
                asyncio.create_task(self._controllers.run(), name="controllers"),
                asyncio.create_task(self._operator.run(None, self._stop_operator), name="operator"),
                asyncio.create_task(self._ours.watch(), name="hub and storage"),
                asyncio.create_task(self._refreshing.run(), name="files"),
            ]
            head = f"tidegate up · {self._state.folder} · Ctrl-C ends it"
            with self._voice.shown(self._store, head, self._environment, is_wanted=is_shown):
                asked = asyncio.create_task(ending.asked.wait())
                await asyncio.wait([asked, *parts], return_when=asyncio.FIRST_COMPLETED)
                asked.cancel()
                code = await self._end(parts, ending)
            for part in parts:
                if not part.cancelled():
                    part.result()
            self._voice.say("", "all of it has ended" if code == Code.DONE else "cut off")
            return code

    async def _show(self, console: Address | None, stack: AsyncExitStack) -> None:
        """The console, of what the operator knows."""
        if console is None:
            return
        operator = self._operator
        shown = await serve_console(
            console,
            operator.cache,
            Loopback(self._commands.of_any()),
            time.time,
            operator.leader.is_led,
        )
        stack.push_async_callback(shown.close)
        self._voice.say("", f"the console is at {shown.url}")

    async def _end(self, parts: Sequence[asyncio.Task[None]], ending: Ending) -> int:
        kubelet, *others = parts
        stopping = asyncio.create_task(self._stop(parts))
        cut = asyncio.create_task(ending.cut.wait())
        await asyncio.wait([stopping, cut], return_when=asyncio.FIRST_COMPLETED)
        is_cut = not stopping.done()
        if is_cut:
            self._voice.say("", "asked a second time: everything ends at once")
        stopping.cancel()
        cut.cancel()
        for part in others:
            part.cancel()
        await asyncio.wait([stopping, *others])
        self._kubelet.close()
        self._kubelet.kill()
        await asyncio.wait([kubelet])
        if is_cut:
            self._ours.kill()
            return Code.CUT
        stopping.result()
        return Code.DONE

    async def _stop(self, parts: Sequence[asyncio.Task[None]]) -> None:
        """In the order of the module."""
        kubelet, controllers, operator, *_ = parts
        SHUTDOWN.grant(_OWN_S + self._kubelet.grace_s)
        names = self._kubelet.names
        self._voice.say(
            "",
            f"ending {counted(len(names), 'consumer')}, each with its checkpoints written and its "
            "partitions given back. Ctrl-C again ends everything at once.",
        )
        self._stop_operator.set()
        await asyncio.wait([operator])
        controllers.cancel()
        await asyncio.wait([controllers])
        self._kubelet.close()
        await asyncio.wait([kubelet])


@asynccontextmanager
async def unless_asked(
    starting: AbstractAsyncContextManager[Embedded], asked: asyncio.Event
) -> AsyncIterator[Embedded | None]:
    """What is being started; None where somebody asked for the end meanwhile."""
    entering = asyncio.ensure_future(starting.__aenter__())
    waiting = asyncio.create_task(asked.wait())
    await asyncio.wait([entering, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not entering.done():
        entering.cancel()
        await asyncio.wait([entering])
        yield None
        return
    ours = entering.result()
    try:
        yield ours
    finally:
        await starting.__aexit__(*sys.exc_info())
