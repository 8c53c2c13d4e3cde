"""The pictures of the documentation, made from the running demo: `make docs-pictures`.

Rules: a seed, so that they are alike each time; what is shown is what a reader would see.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import DESKTOP, PHONE, Browser, running_driver  # noqa: E402
from support.demo_process import DemoProcess, running_demo  # noqa: E402
from support.wait import wait_until  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
MEMBERS = "document.querySelectorAll('#members tbody tr').length >= 4"
IS_WELL = "document.querySelector('#state').textContent.includes('Balanced')"
MOVES = "document.querySelectorAll('#moves li').length >= 4"
SENSORS = "document.querySelectorAll('#sensors > li').length >= 5"
ALARM = "/broken/i.test(document.querySelector('#hero').innerText)"


def take(browser: Browser, name: str, theme: str, size: tuple[int, int]) -> None:
    browser.theme(theme)
    browser.resize(size)
    browser.screenshot(PICTURES / f"{name}.webp")
    print(f"{PICTURES / name}.webp", flush=True)


def of_the_console(browser: Browser, demo: DemoProcess) -> None:
    browser.open(f"{demo.console()}/groups/default/alarms")
    demo.press("b")
    browser.wait(MEMBERS, "consumers to come", 120)
    demo.press("k")
    demo.until_said("is killed")
    browser.wait(f"{MOVES} && {IS_WELL}", "hand-overs", 120)
    take(browser, "console-group", "light", DESKTOP)
    browser.open(demo.console())
    browser.wait("document.querySelectorAll('#groups tbody tr').length === 2", "both groups")
    take(browser, "console-groups", "light", (DESKTOP[0], 420))


def of_a_home(browser: Browser, demo: DemoProcess) -> None:
    browser.open(demo.home())
    browser.wait(SENSORS, "the sensors", 120)
    demo.press("a")
    browser.wait(ALARM, "the alarm", 60)
    take(browser, "home", "light", (900, 900))
    take(browser, "home-phone", "dark", PHONE)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_driver(Path(folder)) as port:
        browser = Browser(port, Path(folder) / "profile")
        with running_demo(HOMES="1000", SEED="20261119") as demo:
            demo.until_said("demo: everything runs")
            # The evening has begun.
            wait_until(lambda: "it is 17:" in demo.said, 120, "the evening", lambda: demo.said)
            of_the_console(browser, demo)
            of_a_home(browser, demo)
        browser.close()


if __name__ == "__main__":
    main()
