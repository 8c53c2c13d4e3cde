"""Both pages over the real demo: they load, go on by themselves, survive a member's death, and open
for nobody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from page.looks import look_at
from support.browser import Browser
from support.demo_process import DemoProcess, running_demo

IS_LIVE = "document.querySelector('#link-state').dataset.state === 'live'"
MEMBERS = "[...document.querySelectorAll('#members tbody th')].map((each) => each.textContent)"
# Who owns what, and who is not ready.
MAP = (
    "return [...document.querySelectorAll('.lane')].map((lane) => lane.innerText.split('\\n')[0] + "
    "lane.querySelector('.lane-name').innerText "
    "+ [...lane.querySelectorAll('.cell b')].map((each) => each.textContent))"
)
READY = "document.querySelector('#facts dd').textContent"


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with running_demo(HOMES="300") as running:
        running.until_said("demo: everything runs")
        running.until_said(r"activity \(python\): 1/1 consumers.*alarms \(python\): 1/1")
        yield running


def test_a_home_sees_its_alarm_within_seconds(
    browser: Browser, demo: DemoProcess, pictures: Path
) -> None:
    browser.open(demo.home())
    browser.wait(IS_LIVE, "the page to be live")
    browser.wait("document.querySelectorAll('#sensors > li').length >= 5", "five sensors", 90)
    demo.press("a")
    browser.wait(
        "/glass/i.test(document.querySelector('[aria-labelledby=h-alarms]').innerText)",
        "the alarm",
        20,
    )
    look_at(browser, pictures, "demo-home")
    assert browser.complaints() == []


def test_a_new_kind_of_sensor_appears_by_itself(browser: Browser, demo: DemoProcess) -> None:
    browser.open(demo.home(4))
    browser.wait(IS_LIVE, "the page to be live")
    demo.press("c")
    shown = "document.querySelector('#sensors').innerText.toLowerCase().includes('monoxide')"
    browser.wait(shown, "the new sensor", 90)
    assert browser.complaints() == []


def test_the_console_shows_a_burst_and_outlives_a_member(
    browser: Browser, demo: DemoProcess, pictures: Path
) -> None:
    browser.open(demo.console())
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 2", "both groups")
    look_at(browser, pictures, "demo-groups")
    browser.open(f"{demo.console()}/groups/default/alarms")
    browser.wait("document.querySelectorAll('.cell').length === 16", "the partitions")
    demo.press("b")
    browser.wait(f"{MEMBERS}.length > 1 && !{READY}.startsWith('1 of')", "more consumers", 60)
    before = browser.run(MAP)
    said = demo.press("k")
    for _ in range(30):
        if demo.until_said(r"(\S+) is killed", said)[1].startswith("alarms-"):
            break
        said = demo.press("k")
    else:
        pytest.fail("30 members were killed, and none of alarms")
    browser.wait(f"JSON.stringify((() => {{ {MAP} }})()) !== {json.dumps(json.dumps(before))}",
                 "the member's death to be seen", 60)  # fmt: skip
    browser.wait("{READY}.replace(/^(\\d+) of \\1$/, 'all') === 'all'".replace("{READY}", READY),
                 "all of them to be ready again", 90)  # fmt: skip
    look_at(browser, pictures, "demo-group")
    assert browser.complaints() == []


def test_a_link_that_was_changed_opens_nothing(browser: Browser, demo: DemoProcess) -> None:
    own, other = demo.home(17), demo.home(4)
    token = other.rsplit("/", 1)[1].split(".")
    mixed = ".".join([token[0], *own.rsplit("/", 1)[1].split(".")[1:]])
    browser.open(f"{own.rsplit('/', 1)[0]}/{mixed}")
    assert "home-000004" not in browser.run("return document.documentElement.innerHTML")
    assert not browser.run("return !!document.querySelector('#sensors')")
