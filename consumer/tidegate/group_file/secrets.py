"""Fetches secrets from where the group file says that they are.

Rules: a secret is never shown, also not in an error; every one that was fetched is remembered, so
that it can be hidden wherever it might be said.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegate.group_file.spec import Secret
from tidegate.settings import SettingsError, is_plain


def check_secret(found: str, what: str) -> None:
    """Raises SettingsError, which does not repeat it, for what can be no key."""
    if not is_plain(found):
        raise SettingsError(
            f"{what}: a line end, a tab or a control character is in this secret: store it in one "
            "line"
        )


class Vault:
    """What was fetched: `fetched` holds every secret of this process."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._environment = environment
        self._folder = folder
        self.fetched: list[str] = []

    def fetch(self, secret: Secret | None, what: str) -> str:
        """The secret, or '' where none is asked for. Raises SettingsError."""
        if secret is None:
            return ""
        if secret.secret is not None:
            raise SettingsError(
                f"{what}: {{secret: {secret.secret}, key: {secret.key}}} is for the operator, "
                "which mounts it; where it does not run, write {env: NAME} or {file: PATH}"
            )
        found = self._of_file(secret.file, what) if secret.file else self._of(secret.env, what)
        self.fetched.append(found)
        check_secret(found, what)
        return found

    def _of(self, name: str | None, what: str) -> str:
        found = self._environment.get(name or "", "").strip()
        if not found:
            raise SettingsError(f"{what}: the environment variable {name} is not set, or is empty")
        return found

    def _of_file(self, name: str, what: str) -> str:
        path = self._folder / name
        try:
            found = path.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise SettingsError(f"{what}: {path} cannot be read: {error}") from None
        if not found:
            raise SettingsError(f"{what}: {path} is empty")
        return found
