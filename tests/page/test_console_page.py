"""The console in a browser, over a group whose operator decides for real in a little world."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from page.looks import look_at
from page.programs import Program, console, running, survives_a_refusal_while_hidden
from page.shown_groups import HOSTILE
from support.browser import Browser
from unit.operator.plugin_groups import state

IS_LIVE = "document.querySelector('#link-state').dataset.state === 'live'"
ROW = "[...document.querySelectorAll('#groups tbody tr')].find((row) => row.dataset.key === '{}')"
LANES = "return [...document.querySelectorAll('.lane-name b')].map((lane) => lane.textContent)"
CONSUMERS = "document.querySelector('#facts dd').textContent"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Program]:
    with running(console(tmp_path)) as program:
        yield program


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Program]:
    with running(console(tmp_path, "--tokens")) as program:
        yield program


def test_groups_are_shown_those_in_trouble_first_and_change_as_they_do(
    browser: Browser, server: Program, pictures: Path
) -> None:
    browser.open(server.url)
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 5", "the groups")
    keys = browser.run(
        "return [...document.querySelectorAll('#groups tbody tr')].map((row) => row.dataset.tone)"
    )
    assert keys == sorted(keys, key=["trouble", "busy", "well", "rest"].index)
    assert "2 in trouble" in browser.text("#sum")
    look_at(browser, pictures, "console-groups")
    server.act("state alarms Stuck")
    browser.wait(f"{ROW.format('homes/alarms')}.dataset.tone === 'trouble'", "the trouble")
    server.act("delete alarms")
    browser.wait(f"!{ROW.format('homes/alarms')}", "the group to be gone")
    assert browser.complaints() == []


def test_what_is_not_known_is_said_to_be_so_and_never_shown_as_nothing(
    browser: Browser, server: Program
) -> None:
    browser.open(server.url)
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 5", "the groups")
    assert "at least" not in browser.text("#sum")
    unknown = [state("0", "home-a"), state("1", "home-b", lag=70, behindSeconds=None)]
    status = {"lag": None, "lagKind": "unknown", "behind": None, "partitionStates": unknown}
    server.act(f"status alarms {json.dumps(status)}")
    sums = "/at least .* events wait, 1 group unknown/.test({}.textContent)"
    browser.wait(sums.format("document.querySelector('#sum')"), "that one is not known")
    waits = "querySelector('[data-label=\"Oldest waits\"]')"
    assert browser.run(f"return {ROW.format('homes/alarms')}.{waits}.textContent") == "–"
    browser.open(f"{server.url}/groups/homes/alarms")
    browser.wait("document.querySelectorAll('.cell').length === 2", "the partitions")
    heats = "return [...document.querySelectorAll('.cell')].map((each) => each.dataset.heat)"
    assert sorted(browser.run(heats)) == ["0", "unknown"]
    assert browser.complaints() == []


def test_a_group_grows_with_its_lag_and_survives_a_members_death_before_ones_eyes(
    browser: Browser, server: Program, pictures: Path
) -> None:
    browser.open(server.url)
    browser.wait(f"!!{ROW.format('homes/activity')}", "the group")
    browser.run(f"{ROW.format('homes/activity')}.querySelector('a').click()")
    browser.wait("location.pathname === '/groups/homes/activity'", "the group's page")
    browser.wait("document.querySelectorAll('.cell').length === 12", "the partitions")
    assert browser.text("#name") == "activity"
    server.act("burst")
    browser.wait(f"{CONSUMERS} === '6 of 6'", "six consumers", 60)
    browser.wait("document.querySelectorAll('#moves li').length >= 4", "the hand-overs")
    assert "→" in browser.text("#moves")
    assert "2 → 6" in browser.text("#decisions")
    assert browser.run("return document.querySelectorAll('.lane').length") == 6
    before = browser.run(LANES)
    server.act("kill")
    browser.wait(
        f"JSON.stringify((() => {{ {LANES} }})()) !== JSON.stringify({json.dumps(before)}) "
        f"&& {CONSUMERS} === '6 of 6'",
        "another one in its place",
        60,
    )
    assert len(set(browser.run(LANES)) - set(before)) == 1
    chart = "document.querySelector('#chart-size svg').getAttribute('aria-label')"
    assert "ready 6 now" in browser.run(f"return {chart}")
    look_at(browser, pictures, "console-group")
    assert browser.complaints() == []


def test_a_page_comes_back_after_its_server(browser: Browser, tmp_path: Path) -> None:
    first = console(tmp_path)
    browser.open(f"{first.url}/groups/homes/activity")
    browser.wait(IS_LIVE, "the page to be live")
    first.end()
    browser.wait("document.querySelector('#link-state').dataset.state === 'lost'", "the loss")
    assert browser.text("#name") == "activity"
    with running(console(tmp_path, "--port", first.port)) as again:
        browser.wait(IS_LIVE, "the page to come back")
        again.act("burst")
        browser.wait(f"{CONSUMERS} === '6 of 6'", "what is new", 60)


GREY = "document.documentElement.dataset.stale === 'true'"
SINCE = r"since \d\d:\d\d:\d\d\. All that is shown here is as it was then"


def is_grey(browser: Browser, words: str) -> None:
    """Nothing is shown in the colour of what is well, and the page says since when."""
    browser.wait(GREY, "the grey", 90)
    assert re.search(f"{words} {SINCE}", browser.text("#stale"))
    filters = browser.run(
        "return [...document.querySelectorAll('main > :not(.notice)')]"
        ".map((each) => getComputedStyle(each).filter)"
    )
    assert set(filters) == {"grayscale(1)"}


@pytest.mark.parametrize("path", ["/", "/groups/homes/activity"])
def test_figures_whose_operator_is_gone_are_grey_with_the_time_from_which_they_are(
    browser: Browser, tmp_path: Path, pictures: Path, path: str
) -> None:
    first = console(tmp_path)
    browser.open(f"{first.url}{path}")
    browser.wait(f"{IS_LIVE} && !!document.querySelector('.state[data-tone]')", "the page")
    assert not browser.run(f"return {GREY}")
    first.end()
    is_grey(browser, "This page hears nothing from the operator")
    look_at(browser, pictures, f"console-gone-{'groups' if path == '/' else 'group'}")
    with running(console(tmp_path, "--port", first.port)):
        browser.wait(f"{IS_LIVE} && !({GREY})", "the colours", 30)
        assert browser.run("return document.querySelector('#stale').hidden")


def test_figures_of_an_operator_that_hangs_are_grey_although_its_connection_stands(
    browser: Browser, server: Program
) -> None:
    browser.open(server.url)
    browser.wait(IS_LIVE, "the page to be live")
    server.process.send_signal(signal.SIGSTOP)
    try:
        is_grey(browser, "This page hears nothing from the operator")
    finally:
        server.process.send_signal(signal.SIGCONT)
    browser.wait(f"{IS_LIVE} && !({GREY})", "the colours", 60)


def test_figures_are_grey_while_no_operator_leads_although_the_console_is_served(
    browser: Browser, server: Program
) -> None:
    browser.open(server.url)
    browser.wait(IS_LIVE, "the page to be live")
    server.act("unled")
    is_grey(browser, "No operator looks after the groups")
    server.act("led")
    browser.wait(f"!({GREY})", "the colours", 30)


def test_a_group_that_no_operator_has_looked_at_is_grey_alone_and_says_how_old_it_is(
    browser: Browser, server: Program
) -> None:
    old = json.dumps({"observedTime": "2026-01-01T00:00:00Z"})
    browser.open(server.url)
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 5", "the groups")
    server.act(f"status alarms {old}")
    row = ROW.format("homes/alarms")
    browser.wait(f"{row}.dataset.stale === 'true'", "the mark")
    assert "no operator has looked at it since" in browser.run(f"return {row}.innerText")
    stale = "document.querySelectorAll('#groups tr[data-stale=\"true\"]').length"
    assert browser.run(f"return {stale}") == 1 and not browser.run(f"return {GREY}")
    browser.open(f"{server.url}/groups/homes/alarms")
    words = "document.querySelector('#notes').innerText.includes('no operator has looked at it')"
    browser.wait(words, "how old it is")
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("retry", "A batch that fails is given again until it is handled"),
        ("halt", "its partition stands still until its owner is restarted"),
        ("deadLetter", "What fails by itself is put aside"),
    ],
)
def test_what_becomes_of_a_batch_that_fails_is_said_by_the_groups_own_policy(
    browser: Browser, server: Program, policy: str, said: str
) -> None:
    server.act(f'delivery alarms {{"onFailure": "{policy}"}}')
    browser.open(f"{server.url}/groups/homes/alarms")
    browser.wait(f"document.querySelector('#letters').textContent.includes('{said}')", said)
    assert ("given again" in browser.text("#letters")) == (policy == "retry")


def test_a_page_that_is_refused_says_why_and_comes_back(browser: Browser, tmp_path: Path) -> None:
    first = console(tmp_path)
    browser.open(first.url)
    browser.wait(IS_LIVE, "the page to be live")
    survives_a_refusal_while_hidden(browser, first, lambda: console(tmp_path, "--port", first.port))


def test_what_is_late_is_so_in_words(browser: Browser, server: Program) -> None:
    browser.open(server.url)
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 5", "the groups")
    late = [state("0", "home-a", lag=70, behindSeconds=90.0)]
    scaling = {"mode": "Auto", "objective": "within 60s", "decisions": []}
    status = {"lag": 70, "behind": "90s", "partitionStates": late, "scaling": scaling}
    server.act(f"status alarms {json.dumps(status)}")
    words = "longer than the objective"
    row = ROW.format("homes/alarms")
    browser.wait(f"{row}.innerText.includes('{words}')", "the word")
    browser.open(f"{server.url}/groups/homes/alarms")
    browser.wait(f"document.querySelector('#facts').innerText.includes('{words}')", "the word")


@pytest.mark.parametrize(
    ("behind", "each_can", "word"), [(2, 900, "Keeps up"), (90, 900, "Grows"), (2, 9, "Grows")]
)
def test_what_waits_for_its_batch_is_not_said_to_grow(
    browser: Browser, server: Program, behind: int, each_can: int, word: str
) -> None:
    waiting = [state("0", "home-a", lag=70, behindSeconds=behind)]
    scaling = {
        **{"mode": "Auto", "objective": "within 60s", "decisions": []},
        **{"arriving": 100, "handling": 80, "perConsumer": each_can},
    }
    status = {"lag": 70, "behind": f"{behind}s", "partitionStates": waiting, "scaling": scaling}
    server.act(f"status alarms {json.dumps(status)}")
    browser.open(f"{server.url}/groups/homes/alarms")
    browser.wait(f"document.querySelector('#facts').innerText.includes('{word}')", "the word")


MANY = {"partitions": 200, "partitionStates": []}


def test_without_a_cluster_commands_are_those_that_there_are(
    browser: Browser, server: Program
) -> None:
    server.act(f"status alarms {json.dumps(MANY)}")
    browser.open(f"{server.url}/groups/homes/alarms")
    told = "document.querySelector('#map-none').textContent.includes('tidegate partitions alarms')"
    browser.wait(told, "the command", 30)
    # Who owns what is not told of so many: "none" would be a guess.
    assert browser.text("#moves-none").startswith("Not known: this group has more than 128")
    assert "kubectl" not in browser.run("return document.querySelector('main').innerText")
    assert not browser.run("return document.querySelector('#letters-command').checkVisibility()")


def test_in_a_cluster_commands_are_kubectls(browser: Browser, guarded: Program) -> None:
    guarded.act(f"status alarms {json.dumps(MANY)}")
    browser.open(guarded.url)
    browser.type("#token", "homes")
    browser.click("main button")
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 3", "the groups")
    browser.open(f"{guarded.url}/groups/homes/alarms")
    told = "kubectl consumergroup partitions alarms -n homes"
    browser.wait(f"document.querySelector('#map-none').textContent.includes('{told}')", "it", 30)


def test_what_others_wrote_is_text(browser: Browser, server: Program) -> None:
    browser.open(server.url)
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 5", "the groups")
    assert HOSTILE[:14] in browser.text("#groups")
    browser.run(
        "[...document.querySelectorAll('#groups a')].find((link) => "
        "link.textContent.startsWith('<img')).click()"
    )
    browser.wait("document.querySelectorAll('.cell').length === 1", "the group's page")
    assert browser.text("#name") == HOSTILE
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert browser.run("return document.title") == f"{HOSTILE} · Tidegate"
    browser.open(f"{server.url}/groups/billing/invoices")
    browser.wait("document.querySelectorAll('#notes li').length >= 2", "what is wrong")
    assert HOSTILE in browser.text("#notes")
    assert browser.complaints() == []


def test_a_group_in_trouble_says_so_without_colours(
    browser: Browser, server: Program, pictures: Path
) -> None:
    browser.open(f"{server.url}/groups/billing/invoices")
    browser.wait("document.querySelectorAll('.cell').length === 4", "the partitions")
    assert "CrashLoop" in browser.text("#state")
    assert "Nobody" in browser.text("#map")
    assert "lost" in browser.text("#map")
    look_at(browser, pictures, "console-trouble")


def test_people_log_in_with_a_token_and_see_what_kubernetes_lets_them(
    browser: Browser, guarded: Program, pictures: Path
) -> None:
    browser.open(f"{guarded.url}/groups/homes/activity")
    assert browser.text("h1") == "Log in"
    look_at(browser, pictures, "console-login")
    browser.type("#token", "nobody")
    browser.click("main button")
    browser.wait("!!document.querySelector('[role=alert]')", "the refusal")
    browser.type("#token", "homes")
    browser.click("main button")
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 3", "the groups")
    assert "billing" not in browser.text("#groups")
    assert browser.run("return document.cookie") == ""
    browser.wait("!document.querySelector('#leave').hidden", "who one is")
    browser.open(f"{guarded.url}/groups/billing/invoices")
    browser.wait("!document.querySelector('#trouble').hidden", "the refusal")
    assert "no such group, or you may not see it" in browser.text("#trouble")
    browser.click("#leave button")
    browser.wait("document.querySelector('h1').textContent === 'Log in'", "the log-in")
