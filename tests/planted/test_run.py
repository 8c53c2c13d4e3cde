"""No secret is in what a consumer, a command or the residents' page says, at its most talkative.

At DEBUG the libraries below us speak too, of their requests and of their frames.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from planted.conftest import World
from support.leaky_groups import (
    HUB,
    NAMES,
    PRINTS,
    SAID,
    group,
    of_hub,
    of_storage,
    the_groups,
    write,
)
from support.planted import Planted, new_key
from support.tree import ROOT
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# By what its log shows that a group is at the point where it works, or fails.
SHOWS = {
    "well": "checkpoint",
    "raises": "the service took no log-in",
    "tells": "cannot log in with",
    "letters": "is at letters/",
    "broken": "no module for",
    "aborts": "reading",
    "opens": "the sink refused",
    "wrong-key": "the token was refused",
    "unreachable": "could not connect",
    "wrong-storage": "The account key was not accepted",
    "refused-sas": "The SAS does not allow this",
    "cosmos": "checkpoint",
    "wrong-cosmos": "Response status: 401",
    PRINTS: "my key is",
}
# Of these no process is left to be asked.
ENDED = ("broken", "aborts")
SOON_S = 120.0
PATHS = ("/metrics", "/readyz", "/healthz")
EXAMPLES = ROOT / "examples" / "home-security"
# What people write where the name of a place of the key is wanted; and the key is in it.
MISPLACED = {
    "a connection string in place of where it is": "connectionString: 'Endpoint=sb://n/;SharedAccessKeyName=n;SharedAccessKey={}'",
    "a connection string in place of a variable": "connectionString: {{env: 'Endpoint=sb://n/;SharedAccessKey={}'}}",
    "a key in place of a variable": "connectionString: {{env: '{}'}}",
    "a key in place of a file": "connectionString: {{file: '{}'}}",
    "a key in place of a Secret": "connectionString: {{secret: '{}', key: '{}'}}",
    "a value": "connectionString: {{value: 'SharedAccessKey={}'}}",
    "a key of its own": "sharedAccessKey: '{}'",
    "a list": "connectionString: ['{}']",
    "no YAML": "connectionString: {{env: '{}'",
}


class Consumer:
    """A process, with all that it says in a file."""

    def __init__(self, words: list[str], log: Path, environment: dict[str, str]) -> None:
        self.name = log.stem
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=log.parent,
                env={**os.environ, **environment},
            )

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def until_said(self, pattern: str) -> str:
        """What stands there in the pattern's brackets, or all of it."""
        what = f"'{pattern}' in the log of {self.name}"
        found = wait_until(lambda: re.search(pattern, self.said), SOON_S, what, self.end)
        assert found is not None
        return found[found.re.groups]

    def end(self) -> str:
        """The end of all that it has said, once it has ended."""
        self.process.terminate()
        try:
            self.process.wait(SOON_S)
        finally:
            self.process.kill()
            self.process.wait()
        return self.said[-3000:]


Start = Callable[..., Consumer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program by its name, module and words, and variables."""

    @contextmanager
    def ended(consumer: Consumer) -> Iterator[Consumer]:
        try:
            yield consumer
        finally:
            consumer.end()

    with ExitStack() as stack:

        def start(name: str, *words: str, **environment: str) -> Consumer:
            made = Consumer(list(words), tmp_path / f"{name}.log", environment)
            return stack.enter_context(ended(made))

        yield start


def page(url: str) -> bytes:
    """What is answered, whatever the status."""
    try:
        with urlopen(url, timeout=30) as answer:
            return bytes(answer.read())
    except HTTPError as refused:
        return refused.read()


def test_no_secret_is_in_what_consumers_say_at_debug_but_what_a_handler_prints(
    world: World, tmp_path: Path, start: Start
) -> None:
    groups = the_groups(world.blobs)
    storage = of_storage(PRINTS, connectionString={"env": "STORAGE"})
    source = of_hub("LEAKY_EVENTS", consumerGroup=PRINTS)
    groups[PRINTS] = group(PRINTS, source=source, ledger=storage, handler=PRINTS)
    assert groups.keys() == SHOWS.keys() == {*NAMES, PRINTS}
    options = ("--log-level", "DEBUG", "--log-format", "json", "--listen", "127.0.0.1:0")
    consumers = [
        start(file.stem, "tidegate", "run", str(file), *options, **world.environment)
        for file in write(tmp_path, groups)
    ]
    for each in consumers:
        each.until_said(SHOWS[each.name])
    planted, found = world.planted, []
    for each in consumers:
        if each.name not in ENDED:
            url = each.until_said(r"metrics and health at (http://[\w.:]+)")
            for path in PATHS:
                found += planted.found_in(f"{path} of {each.name}", page(url + path))
        each.end()
        found += planted.found_in(f"the log of {each.name}", each.said)
    everything = "".join(each.said for each in consumers)
    assert '"level": "debug"' in everything
    assert [words for words in SAID if words not in everything] == []
    # What user code prints is no line of ours; and it shows that a leak would be found.
    leaks = {sentence for sentence in found if sentence.startswith(f"the log of {PRINTS} ")}
    assert f"the log of {PRINTS} holds the key of hub, as it is" in leaks
    assert set(found) == leaks


@pytest.mark.parametrize("mistake", MISPLACED)
def test_a_key_that_stands_where_none_belongs_is_not_repeated(
    mistake: str, tmp_path: Path, start: Start
) -> None:
    key = new_key()
    source = MISPLACED[mistake].format(key, key)
    (tmp_path / "group.yaml").write_text(
        "apiVersion: tidegate.dev/v1alpha1\nkind: ConsumerGroup\nmetadata: {name: home}\n"
        f"spec:\n  source:\n    eventHubs:\n      hub: {HUB}\n      {source}\n"
        "  ledger: {container: c, connectionString: {env: STORAGE}}\n"
        "  handler: {code: 'handler.py:handle'}\n",
        encoding="utf-8",
    )
    for words in (("run", "group.yaml"), ("up", "group.yaml", "--state", "state")):
        ran = start(words[0], "tidegate", *words, STORAGE="AccountName=a;AccountKey=a2V5")
        if words[0] == "run":
            assert ran.process.wait(SOON_S) == 78
        else:
            ran.until_said("tidegate: |home")
        ran.end()
        assert ran.said
        assert Planted({"key": key}).found_in(mistake, ran.said) == []


def test_a_command_that_is_given_a_wrong_key_does_not_repeat_it(start: Start) -> None:
    keys = {"key of the hub": new_key(), "key of the storage": new_key()}
    events, storage = keys.values()
    environment = {
        "TIDEGATE_EVENTS_CONNECTION_STRING": (
            f"Endpoint=sb://127.0.0.1:1,SharedAccessKeyName=n;SharedAccessKey={events}"
        ),
        "TIDEGATE_LEDGER_CONNECTION_STRING": f"AccountName=a,AccountKey={storage}",
    }
    for words in (
        ("send", "--hub", HUB, "--count", "1"),
        ("ledger", "--ledger", "c", "--hub", HUB),
    ):
        ran = start(words[0], "tidegate", *words, **environment)
        assert ran.process.wait(SOON_S) != 0
        assert ran.said
        assert Planted(keys).found_in(" ".join(words), ran.said) == []


def test_the_residents_page_keeps_its_key_its_links_and_its_storages_key(
    world: World, start: Start
) -> None:
    key = new_key()
    environment = {
        "PYTHONPATH": str(EXAMPLES),
        "RESIDENTS_KEY": key,
        "STORAGE": world.environment["WRONG_STORAGE"],
    }
    serving = start("serve", "residents", "serve", "--listen", "127.0.0.1:0", **environment)
    url = serving.until_said(r"serving at (http://[\w.:]+)")
    link = start("link", "residents", "link", "home-000017", "--base", url, **environment)
    assert link.process.wait(SOON_S) == 0
    whole = link.said.strip()
    token = whole.rpartition("/")[2]
    planted = Planted({"key of the links": key, "link": token, **world.keys})
    assert planted.found_in("what prints the link", link.said)
    answers = [page(each) for each in (whole, whole[:-4] + "AAAA", f"{url}/h/{token[:9]}", url)]
    serving.end()
    found = planted.found_in("what the page's server says", serving.said)
    for answer in answers:
        found += planted.found_in("what the page answers", answer)
    assert found == []
