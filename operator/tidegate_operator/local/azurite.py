"""Finds Azurite, the Blob storage for this machine: what starts it, and what to do without it.

Rules: one that is installed comes first. npx fetches it where nothing is installed, which is said
beforehand. Nothing is ever fetched from anywhere else. What runs is Node itself and never npx,
which ends before what it has started: so Azurite writes down what it holds when it is told to end,
and ends with whoever started it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.settings import SettingsError
from tidegate_operator.local.processes import Process

# Names another one: the script `azurite-blob`, or a program of that kind.
VARIABLE = "TIDEGATE_AZURITE"
_SCRIPT = "azurite-blob"
_PACKAGE = "azurite@3"
_FETCHED_S = 600.0
_MISSING = (
    "there is no Azurite for the ledger, and no npm to fetch it. Install Node 20 or newer with npm "
    "(then it is fetched by npx), or `npm install --global azurite`, or name one with "
    f"{VARIABLE}=…/azurite-blob; or let spec.ledger name storage that is there"
)


@dataclass(frozen=True, slots=True)
class Azurite:
    """What starts it."""

    # Empty where `fetch` is to say it: this prints where the script is, once that is there.
    command: tuple[str, ...] = ()
    fetch: tuple[str, ...] = ()


def find_azurite(environment: Mapping[str, str]) -> Azurite:
    """Raises SettingsError."""
    path = environment.get("PATH")
    named = environment.get(VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SettingsError(f"{VARIABLE}: there is no file {named}")
        return Azurite(_by_node(Path(named), path))
    # Beside the virtual environment of a checkout, `make` has put what its tests use.
    tools = Path(__file__).resolve().parents[3] / ".tools"
    ours = tools / "azurite" / "node_modules" / ".bin" / _SCRIPT
    if ours.is_file():
        return Azurite(_by_node(ours, f"{tools / 'bin'}:{path or ''}"))
    installed = shutil.which(_SCRIPT, path=path)
    if installed is not None:
        return Azurite((installed,))
    npx = shutil.which("npx", path=path)
    if npx is None:
        raise SettingsError(_MISSING)
    _node(path)
    return Azurite(
        fetch=(npx, "--yes", "--package", _PACKAGE, "-c", f"command -v {_SCRIPT}"),
    )


async def fetched(azurite: Azurite, environment: Mapping[str, str], log: Path) -> tuple[str, ...]:
    """What starts it, once npx has fetched it. Raises SettingsError."""
    log.unlink(missing_ok=True)
    process = await Process.started(azurite.fetch, environment, log)
    try:
        async with asyncio.timeout(_FETCHED_S):
            code = await process.ended()
    except TimeoutError:
        raise SettingsError(
            f"npx has not fetched Azurite within {_FETCHED_S:g} s; see {log}"
        ) from None
    finally:
        process.kill()
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
    script = Path(lines[-1])
    if code != 0 or not (script.is_absolute() and script.is_file()):
        raise SettingsError(
            f"npx could not fetch Azurite (code {code}): {lines[-1] or 'it has said nothing'}. See "
            f"{log}, or `npm install --global azurite`"
        )
    return _by_node(script, environment.get("PATH"))


def _by_node(script: Path, path: str | None) -> tuple[str, ...]:
    return (_node(path), str(script.resolve()))


def _node(path: str | None) -> str:
    node = shutil.which("node", path=path)
    if node is None:
        raise SettingsError("Node is not there to run Azurite: install Node 20 or newer")
    return node
