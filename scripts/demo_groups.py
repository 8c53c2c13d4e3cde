"""What the demo asks of `tidegate up`, and does to it: groups, their figures, members to kill.

Rules: standard library only. It asks as `tidegate get` does, by the token in the state folder.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from demo_programs import DemoError

_PATH = "/apis/tidegate.dev/v1alpha1/namespaces/default/consumergroups"
_ASKED_S = 10.0
_GONE_S = 120.0


class Groups:
    """The groups of the `tidegate up` with this state folder."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def all(self) -> dict[str, dict[str, Any]]:
        """By name; nothing while nobody answers."""
        try:
            found = self._ask("GET", "")
        except OSError:
            return {}
        return {each["metadata"]["name"]: each for each in found["items"]}

    def line(self) -> str:
        """How they are, in a few words."""
        return line_of(self.all())

    def toggle_pause(self, name: str) -> bool:
        """Whether it is paused from now on."""
        is_paused = not (self.all().get(name, {}).get("spec") or {}).get("paused", False)
        self._ask("PATCH", f"/{name}", {"spec": {"paused": is_paused}})
        return is_paused

    def delete(self, name: str) -> None:
        """Ends a group; its ledger stays. Raises DemoError."""
        self._ask("DELETE", f"/{name}")
        until = time.monotonic() + _GONE_S
        while name in self.all():
            if time.monotonic() > until:
                raise DemoError(f"group {name} has not ended after {_GONE_S:.0f} s")
            time.sleep(0.2)

    def is_drained(self) -> bool:
        """Nothing waits anywhere, as far as that was told."""
        return is_drained(self.all())

    def members(self) -> list[tuple[int, str]]:
        """The consumers' processes: pid and name."""
        found = []
        mark = f"{self._state / 'pods'}{os.sep}"
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                words = entry.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            place = next((word for word in words if word.startswith(mark)), "")
            if place and "run" in words[:5]:
                name = Path(place.removeprefix(mark)).parts[1]
                found.append((int(entry.name), name))
        return sorted(found)

    def kill_one(self, dice: random.Random) -> str:
        """Kills a member as a crash would; its name, or '' where there is none."""
        members = self.members()
        if not members:
            return ""
        pid, name = dice.choice(members)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return ""
        return name

    def _ask(self, verb: str, path: str, body: Any = None) -> Any:
        """Raises DemoError, OSError."""
        served = json.loads((self._state / "served.json").read_text(encoding="utf-8"))
        request = Request(
            served["url"] + _PATH + path,
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {served['token']}"},
        )
        try:
            with urlopen(request, timeout=_ASKED_S) as answer:
                return json.load(answer)
        except HTTPError as problem:
            said = json.loads(problem.read() or b"{}").get("message", str(problem))
            raise DemoError(f"`tidegate up` refuses: {said}") from None


def line_of(groups: dict[str, dict[str, Any]]) -> str:
    """How they are, in a few words."""
    return "   ".join(_words(name, each) for name, each in sorted(groups.items()))


def is_drained(groups: dict[str, dict[str, Any]]) -> bool:
    """Nothing waits anywhere, as far as that was told."""
    told = [(each.get("status") or {}).get("lag") for each in groups.values()]
    return bool(told) and all(lag == 0 for lag in told)


def _words(name: str, group: dict[str, Any]) -> str:
    status, engine = group.get("status") or {}, group["spec"].get("engine", "python")
    lag = status.get("lag")
    waits = "lag unknown" if lag is None else f"lag {lag:,}"
    return f"{name} ({engine}): {status.get('ready', '?')} consumers, {waits}"
