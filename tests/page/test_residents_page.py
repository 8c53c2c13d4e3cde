"""The residents' page in a browser, over slices that the scenario's own handler writes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from page.looks import look_at
from page.programs import (
    Program,
    link,
    residents,
    running,
    survives_a_refusal_while_hidden,
)
from support.activity_writer import ActivityWriter, Reading
from support.browser import Browser
from support.wait import wait_until

KINDS = {"motion": 0.3, "door": 0.05, "window": 0.02, "glass": 0.0, "smoke": 0.0}
HOSTILE = "<img src=x onerror=document.title='taken'>"
ENTER, TAB = "\ue007", "\ue004"
IS_LIVE = "document.querySelector('#link-state').dataset.state === 'live'"
HAS_SENSORS = "document.querySelectorAll('#sensors li').length >= 5"
HAS_DAY = "document.querySelector('#day-sum').textContent.includes('Motion')"


class Homes:
    """What the homes say, and what they have said."""

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self._writer = ActivityWriter(storage)
        self._dice = random.Random(10)
        self.motions = 0

    def live_through_a_day(self, home: str) -> None:
        now = time.time()
        said = []
        for ago in range(80_000, 0, -300):
            for kind, odds in KINDS.items():
                value = int(self._dice.random() < odds)
                self.motions += value * (kind == "motion")
                said.append(Reading(home, kind, value, now - ago))
        said.append(Reading(home, "glass", 1, now - 20_000.5, alarm=True))
        self._writer.write(sorted(said, key=lambda each: each.at))

    def say(
        self, home: str, kind: str, value: int = 1, *, alarm: bool = False, ago_s: float = 0.0
    ) -> None:
        self._writer.write([Reading(home, kind, value, time.time() - ago_s, alarm)])


@pytest.fixture(scope="module")
def homes(azurite: str) -> Homes:
    made = Homes(azurite)
    made.live_through_a_day("home-000001")
    return made


@pytest.fixture
def server(homes: Homes, tmp_path: Path) -> Iterator[Program]:
    with running(residents(homes.storage, tmp_path)) as program:
        yield program


def opened(browser: Browser, server: Program, home: str) -> None:
    browser.open(link(home, server.url))
    browser.wait(IS_LIVE, "the page to be live")


def test_a_home_has_its_day_on_its_page(
    browser: Browser, server: Program, homes: Homes, pictures: Path
) -> None:
    homes.say("home-000001", "motion", 0)
    opened(browser, server, "home-000001")
    browser.wait(HAS_SENSORS, "the sensors")
    browser.wait(HAS_DAY, "the whole day")
    assert browser.text("#home") == "home-000001"
    assert browser.text("#hero-title") == "All is quiet"
    assert "Glass broken" in browser.text("#recent")
    assert f"Motion {homes.motions:,}" in browser.text("#day-sum")
    assert "Motion" in browser.run("return document.querySelector('#hour-table').textContent")
    assert "Motion" in browser.run(
        "return document.querySelector('#day').ariaLabel ?? "
        "document.querySelector('#day').getAttribute('aria-label')"
    )
    look_at(browser, pictures, "home-calm")
    assert browser.complaints() == []


def test_an_alarm_comes_by_itself_is_said_aloud_and_tells_how_long_it_took(
    browser: Browser, server: Program, homes: Homes, pictures: Path
) -> None:
    homes.say("home-000002", "smoke", 0)
    opened(browser, server, "home-000002")
    browser.wait("document.querySelectorAll('#sensors li').length === 1", "the sensor")
    said_at = time.time()
    homes.say("home-000002", "smoke", alarm=True)
    browser.wait("document.querySelector('#hero').dataset.state === 'alarm'", "the alarm")
    assert browser.text("#hero-title") == "Smoke"
    assert browser.text("#announced") == "Alarm: Smoke"
    assert browser.run("return document.title").startswith("Alarm!")
    delay = browser.wait("Number(document.documentElement.dataset.delay)", "the delay to be told")
    assert 0 < delay <= time.time() - said_at + 0.5
    look_at(browser, pictures, "home-alarm")


def test_a_new_kind_of_sensor_appears_by_itself(
    browser: Browser, server: Program, homes: Homes
) -> None:
    homes.say("home-000003", "door", 0)
    opened(browser, server, "home-000003")
    browser.wait("document.querySelectorAll('#sensors li').length === 1", "the door")
    homes.say("home-000003", "carbon_monoxide", 0)
    homes.say("home-000003", "freezer-door", 0)
    browser.wait("document.querySelectorAll('#sensors li').length === 3", "the new sensors")
    shown = browser.text("#sensors")
    assert "Carbon monoxide" in shown and "Freezer door" in shown


def test_a_page_comes_back_after_its_server_and_has_what_it_missed(
    browser: Browser, homes: Homes, tmp_path: Path
) -> None:
    homes.say("home-000004", "door", 0)
    first = residents(homes.storage, tmp_path)
    opened(browser, first, "home-000004")
    browser.wait("document.querySelectorAll('#sensors li').length === 1", "the door")
    first.end()
    browser.wait("document.querySelector('#link-state').dataset.state === 'lost'", "the loss")
    assert browser.text("#sensors") != ""
    browser.wait("document.querySelector('#hero-title').textContent.startsWith('No news since')",
                 "it to say so", 30)  # fmt: skip
    homes.say("home-000004", "smoke", alarm=True)
    with running(residents(homes.storage, tmp_path, first.port)):
        browser.wait(IS_LIVE, "the page to come back")
        browser.wait("document.querySelector('#hero').dataset.state === 'alarm'", "the alarm")


def test_a_home_that_has_fallen_silent_is_not_called_quiet(
    browser: Browser, server: Program, homes: Homes, pictures: Path
) -> None:
    homes.say("home-000006", "door", 0, ago_s=900)
    opened(browser, server, "home-000006")
    browser.wait("document.querySelectorAll('#sensors li').length === 1", "the door")
    assert browser.text("#hero-title").startswith("No news since")
    assert "not known" in browser.text("#hero-text")
    look_at(browser, pictures, "home-silent")


def test_every_new_reading_is_measured_and_none_is_read_aloud(
    browser: Browser, server: Program, homes: Homes
) -> None:
    homes.say("home-000007", "door", 0)
    opened(browser, server, "home-000007")
    browser.wait("document.querySelectorAll('#sensors li').length === 1", "the door")
    homes.say("home-000007", "door", 1)
    browser.wait("Number(document.documentElement.dataset.delay)", "the delay to be told")
    # Of another kind, and older than what was heard last.
    homes.say("home-000007", "motion", 1, ago_s=40)
    most = "Number(document.documentElement.dataset.delayMost)"
    browser.wait(f"{most} >= 40", "the late one to be measured")
    assert browser.run(f"return {most}") < 60
    assert "from the sensor" in browser.text("#link-state")
    spoken = "return [...document.querySelectorAll('[role=status], [aria-live]')]"
    assert "sensor" not in browser.run(f"{spoken}.map((each) => each.textContent).join()")


def test_a_page_that_is_refused_says_why_and_comes_back(
    browser: Browser, homes: Homes, tmp_path: Path
) -> None:
    homes.say("home-000008", "door", 0)
    first = residents(homes.storage, tmp_path)
    opened(browser, first, "home-000008")
    survives_a_refusal_while_hidden(
        browser, first, lambda: residents(homes.storage, tmp_path, first.port)
    )


def test_a_link_that_opens_nothing_says_what_to_do(
    browser: Browser, server: Program, pictures: Path
) -> None:
    right = link("home-000001", server.url)
    for wrong in (right[:-1], link("home-000001", server.url, days=-1), f"{server.url}/h/x"):
        browser.open(wrong)
        assert browser.text("h1") == "This link does not open a home"
        assert "ask whoever looks after" in browser.text("main")
        assert "home-000001" not in browser.run("return document.documentElement.outerHTML")
    look_at(browser, pictures, "home-refused")


def test_a_page_whose_link_ends_while_it_is_open_says_so(
    browser: Browser, server: Program, homes: Homes
) -> None:
    homes.say("home-000005", "door", 0)
    browser.open(link("home-000005", server.url, days=10 / 86_400))
    browser.wait("document.querySelector('#link-state').dataset.state === 'refused'", "the end", 60)
    assert "Ask whoever looks after" in browser.text("#trouble")


def test_names_from_outside_are_text(browser: Browser, server: Program, homes: Homes) -> None:
    homes.say(HOSTILE, HOSTILE, alarm=True)
    opened(browser, server, HOSTILE)
    browser.wait("document.querySelector('#hero').dataset.state === 'alarm'", "the alarm")
    assert browser.text("#home") == HOSTILE
    assert HOSTILE[1:9].lower() in browser.text("#hero-title").lower()
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.title") != "taken"
    assert browser.complaints() == []


def test_the_page_is_used_by_keyboard(browser: Browser, server: Program) -> None:
    opened(browser, server, "home-000001")
    browser.wait(HAS_DAY, "the whole day")
    for _ in range(6):
        browser.press(TAB)
        if browser.run("return document.activeElement.tagName") == "SUMMARY":
            break
    browser.press(ENTER)
    wait_until(lambda: "Minute" in browser.text("#hour-table"), 10, "the table")


def test_a_home_that_was_never_heard_says_so(
    browser: Browser, server: Program, pictures: Path
) -> None:
    opened(browser, server, "home-nobody")
    browser.wait("document.querySelector('#hero-title').textContent.includes('Nothing')", "it")
    look_at(browser, pictures, "home-empty")
