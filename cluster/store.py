"""What is built once and kept outside the tree, each under the name of what it was made from.

Rules: a thing is made in a draft and gets its name when it is whole, so what has a name can be
used. Its name holds a digest of all that it was made from: whatever changes is made anew beside
it, and two trees share what they have in common. Deleting the folder costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steps import Size, require_space, step

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def digest(*made_from: str | bytes) -> str:
    """A short name for all of these together."""
    whole = hashlib.sha256()
    for part in made_from:
        content = part.encode() if isinstance(part, str) else part
        whole.update(len(content).to_bytes(8, "big") + content)
    return whole.hexdigest()[:12]


def contents(*folders: Path) -> bytes:
    """Everything in these files and folders, with the names: what a thing is made from."""
    parts: list[bytes] = []
    for folder in folders:
        files = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        for path in files:
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(folder.parent).as_posix().encode()
                parts += [name, path.read_bytes()]
    return digest(*parts).encode()


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of all that is kept."""

    root: Path

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def kept(self, name: str) -> Path:
        """Where a thing of this name is, if it is there."""
        return self.root / "kept" / name

    def make(
        self,
        what: str,
        name: str,
        size: Size,
        work: Callable[[Path], None],
        progress: Callable[[], str] = str,
    ) -> Path:
        """The folder of this name; `work` fills a draft of it where it is not there yet."""
        target = self.kept(name)
        if target.exists():
            return target
        draft = self.root / "drafts" / name
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        require_space(self.root, size)
        with step(what, size, [], progress):
            work(draft)
        draft.rename(target)
        return target


def the_store() -> Store:
    """TIDEGATE_CACHE, or a folder of this user's caches."""
    named = os.environ.get("TIDEGATE_CACHE")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    store = Store(Path(named).resolve() if named else caches / "tidegate")
    store.root.mkdir(parents=True, exist_ok=True)
    return store
