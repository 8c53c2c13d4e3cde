"""Who mends a handler is told in which line of it an error was raised."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tidegate.handlers.blame import blamed
from tidegate.settings import SettingsError


def raised_by(call: Callable[[], Any]) -> Exception:
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def code_of(path: Path, text: str) -> dict[str, Any]:
    """What a file of these lines defines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    there: dict[str, Any] = {"loads": json.loads}
    exec(compile(text, str(path), "exec"), there)
    return there


HANDLER = "def handle(events, context):\n    return one(events)\n\ndef one(event):\n    {}\n"


def test_the_users_last_line_is_named(tmp_path: Path) -> None:
    handle = code_of(tmp_path / "handler.py", HANDLER.format("raise KeyError('boom')"))["handle"]
    error = raised_by(lambda: handle([], None))
    assert blamed(error) == "KeyError: 'boom' (handler.py, line 5)"


def test_it_is_the_users_line_also_where_a_library_raised_it(tmp_path: Path) -> None:
    handle = code_of(tmp_path / "handler.py", HANDLER.format("return loads(event)"))["handle"]
    error = raised_by(lambda: handle("{", None))
    assert blamed(error).startswith("JSONDecodeError: Expecting property name")
    assert blamed(error).endswith("(handler.py, line 5)")


def test_a_line_is_named_after_a_thread_as_well(tmp_path: Path) -> None:
    handle = code_of(tmp_path / "handler.py", HANDLER.format("raise OSError"))["handle"]
    with ThreadPoolExecutor(1) as threads:
        error = raised_by(threads.submit(handle, [], None).result)
    assert blamed(error) == "OSError (handler.py, line 5)"


def test_code_that_is_installed_in_the_image_is_named_too(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages" / "alarms" / "main.py"
    handle = code_of(installed, HANDLER.format("raise OSError"))["handle"]
    # The test's own frames are the user's here, so they are taken away.
    error = raised_by(lambda: handle([], None))
    here = error.__traceback__
    while here is not None and here.tb_frame.f_code.co_filename != str(installed):
        here = here.tb_next
    assert blamed(error.with_traceback(here)) == "OSError (main.py, line 2)"


def test_an_error_of_ours_has_no_line() -> None:
    assert blamed(SettingsError("write it")) == "SettingsError: write it"
