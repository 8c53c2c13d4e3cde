"""What holds for every page, however it is looked at: axe's rules, its width; and pictures."""

from __future__ import annotations

import functools
from pathlib import Path

from support.browser import DESKTOP, PHONE, Browser

AXE = Path(__file__).resolve().parents[2] / ".tools" / "axe" / "node_modules" / "axe-core"
_RUN = """
return axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
  "best-practice"], resultTypes: ["violations"]}).then((found) => found.violations.flatMap(
  (rule) => rule.nodes.map(
    (node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`)))
"""
_SMALLEST = (320, 700)


@functools.cache
def _axe() -> str:
    return (AXE / "axe.min.js").read_text(encoding="utf-8")


def broken_rules(browser: Browser) -> list[str]:
    """The rules of accessibility that the page breaks as it is now."""
    found = browser.run(f"{_axe()};{_RUN}")
    assert isinstance(found, list)
    return found


def look_at(browser: Browser, pictures: Path, name: str) -> None:
    """The page in both themes and both sizes: it breaks no rule. A picture of each is kept."""
    for theme in ("light", "dark"):
        browser.theme(theme)
        for size_name, size in (("desktop", DESKTOP), ("phone", PHONE)):
            browser.resize(size)
            browser.screenshot(pictures / f"{name}-{theme}-{size_name}.png")
            broken = broken_rules(browser)
            assert not broken, "\n".join([f"{name}, {theme}, {size_name}:", *broken])
    browser.resize(_SMALLEST)
    width = browser.run("return document.documentElement.scrollWidth")
    assert width <= _SMALLEST[0], f"{name}: {width} px wide on a screen of {_SMALLEST[0]}"
    browser.resize(DESKTOP)
    browser.theme("light")
