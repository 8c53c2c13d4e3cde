"""What is built once: kept whole under the name of what it was made from, or not kept at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from steps import Size, StopError
from store import Store, contents, digest, the_store

SMALL = Size(fetch_mb=1, disk_mb=1)


def fill(draft: Path) -> None:
    (draft / "program").write_text("whole")


def broken_off(draft: Path) -> None:
    (draft / "program").write_text("half")
    raise KeyboardInterrupt


def not_called(draft: Path) -> None:
    raise AssertionError(f"{draft} was made again")


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    made = store.make("a tool", "tool-1", SMALL, fill)
    assert (made / "program").read_text() == "whole"
    assert store.make("a tool", "tool-1", SMALL, not_called) == made


def test_what_was_broken_off_is_never_taken_for_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        store.make("a tool", "tool-1", SMALL, broken_off)
    assert not store.kept("tool-1").exists()
    made = store.make("a tool", "tool-1", SMALL, fill)
    assert (made / "program").read_text() == "whole"


def test_nothing_is_begun_on_a_disk_that_is_too_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(StopError, match="has 0 MB free, and this step needs about 3400 MB"):
        Store(tmp_path).make("kube", "kube-1", Size(400, 3000), not_called)


def test_the_name_changes_with_everything_that_a_thing_is_made_from(tmp_path: Path) -> None:
    folder = tmp_path / "recipe"
    folder.mkdir()
    (folder / "main.go").write_text("one")
    first = contents(folder)
    assert contents(folder) == first
    (folder / "main.go").write_text("two")
    changed = contents(folder)
    (folder / "main.go").rename(folder / "other.go")
    renamed = contents(folder)
    assert len({first, changed, renamed}) == 3


def test_parts_that_run_together_have_names_of_their_own() -> None:
    assert digest("ab", "c") != digest("a", "bc")


def test_the_environment_says_where_things_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("TIDEGATE_CACHE", raising=False)
    assert the_store().root == tmp_path / "caches" / "tidegate"
    monkeypatch.setenv("TIDEGATE_CACHE", str(tmp_path / "mine"))
    assert the_store().root == tmp_path / "mine"
