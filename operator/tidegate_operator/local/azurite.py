"""Finds Azurite, the Blob storage for this machine: what starts it, and what to do without it.

Rules: one that is installed comes first. npx fetches it where nothing is installed, which is said
beforehand. Nothing is ever fetched from anywhere else.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.settings import SettingsError

# Names another one: the script `azurite-blob`, or a program of that kind.
VARIABLE = "TIDEGATE_AZURITE"
_SCRIPT = "azurite-blob"
_PACKAGE = "azurite@3"
_MISSING = (
    "there is no Azurite for the ledger, and no npm to fetch it. Install Node 20 or newer with npm "
    "(then it is fetched by npx), or `npm install --global azurite`, or name one with "
    f"{VARIABLE}=…/azurite-blob; or let spec.ledger name storage that is there"
)


@dataclass(frozen=True, slots=True)
class Azurite:
    """What starts it."""

    command: tuple[str, ...]
    # npx may have to fetch it first.
    is_fetched: bool = False


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
    return Azurite((npx, "--yes", "--package", _PACKAGE, "--", _SCRIPT), is_fetched=True)


def _by_node(script: Path, path: str | None) -> tuple[str, ...]:
    node = shutil.which("node", path=path)
    if node is None:
        raise SettingsError(f"Node is not there to run {script}: install Node 20 or newer")
    return (node, str(script.resolve()))
