"""Loading the user's functions: what is found, and what is said of what is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.handlers.loading import HandlerError, load
from tidegate.settings import SettingsError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for handlers; what is imported from it is forgotten."""
    paths, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def write(folder: Path, text: str, name: str = "mine.py") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def problem(folder: Path, reference: str = "mine.py:handle") -> str:
    with pytest.raises(HandlerError) as raised:
        load(reference, folder)
    return str(raised.value)


def test_a_function_of_a_file_with_what_stands_beside_it(folder: Path) -> None:
    write(
        folder,
        "def handle(events, context): ...\n"
        "async def on_error(error, context): ...\n"
        "def on_open(partition): ...\n"
        "def on_close(partition, reason): ...\n"
        "def on_time(context): ...\n"
        "async def on_stop(): ...\n",
    )
    code = load("mine.py:handle", folder)
    assert not code.takes_one
    others = (code.on_error, code.on_open, code.on_close, code.on_time, code.on_stop)
    assert [function.__name__ for function in others if function] == [
        "on_error",
        "on_open",
        "on_close",
        "on_time",
        "on_stop",
    ]


def test_a_function_of_a_module_of_a_package(folder: Path) -> None:
    (folder / "household").mkdir()
    write(folder, "", "household/__init__.py")
    write(folder, "def handle_event(event, context): ...", "household/alarms.py")
    assert load("household.alarms:handle_event", folder).takes_one


@pytest.mark.parametrize(
    ("text", "name", "takes_one"),
    [
        ("def handle(events, context): ...", "handle", False),
        ("def count(events, context): ...", "count", False),
        ("def count(event, context): ...", "count", True),
        ("async def handle_event(e, c): ...", "handle_event", True),
        ("class Count:\n  def __call__(self, event, context): ...\ncount = Count()", "count", True),
        ("import functools\ndef f(x, events, context): ...\ncount = functools.partial(f, 1)",
         "count", False),
    ],
)  # fmt: skip
def test_the_first_arguments_name_says_how_many_events_it_takes(
    folder: Path, text: str, name: str, takes_one: bool
) -> None:
    write(folder, text)
    assert load(f"mine.py:{name}", folder).takes_one is takes_one


def test_a_file_imports_what_stands_beside_it(folder: Path) -> None:
    write(folder, "HOMES = 5", "beside_it.py")
    write(folder, "from beside_it import HOMES\ndef handle(events, context): return HOMES")
    assert load("mine.py:handle", folder).handle((), None) == 5


def test_an_import_that_fails_names_file_line_and_cause(folder: Path) -> None:
    write(folder, "import json\nimport no_such_module_here\n")
    said = problem(folder)
    assert f"{folder / 'mine.py'}, line 2: import no_such_module_here" in said
    assert "ModuleNotFoundError: No module named 'no_such_module_here'" in said


def test_an_error_deep_in_an_import_names_the_deepest_line(folder: Path) -> None:
    write(folder, "def limit():\n    return int('ten')\nLIMIT = limit()", "deeper.py")
    write(folder, "import deeper\n")
    assert f"{folder / 'deeper.py'}, line 2: return int('ten'): ValueError" in problem(folder)


def test_a_syntax_error_names_its_line(folder: Path) -> None:
    write(folder, "x = 1\ndef handle(events, context)\n    pass\n")
    assert f"{folder / 'mine.py'}, line 2: SyntaxError: expected ':'" in problem(folder)


def test_a_file_that_ends_the_process_does_not(folder: Path) -> None:
    write(folder, "import sys\nsys.exit(3)\n")
    assert "line 2: sys.exit(3): SystemExit: 3" in problem(folder)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("mine.py", "write 'module:function' or 'file.py:function'"),
        (":handle", "write 'module:function' or 'file.py:function'"),
        ("mine.py:a-b", "write 'module:function' or 'file.py:function'"),
        ("other.py:handle", "handler file 'other.py': there is no such file in"),
        ("no_module_of_that_name:handle", "Looked for it beside the group file"),
        ("mine.py:handel", "has no function 'handel'; there are: handle, more"),
        ("mine.py:limit", "'limit' in mine.py is no function"),
        ("mine.py:more", "is to take (events, context), and takes (x, y, z)"),
        ("mine.py:odd", "cannot be seen whether '<lambda>' takes one event or several"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_write(folder: Path, reference: str, said: str) -> None:
    write(
        folder,
        "limit = 5\ndef handle(events, context): ...\ndef more(x, y, z): ...\n"
        "odd = lambda a, b: None\n",
    )
    assert said in problem(folder, reference)


def test_a_hook_of_the_wrong_shape_is_said(folder: Path) -> None:
    write(folder, "def handle(events, context): ...\ndef on_close(partition): ...")
    assert "'on_close' in mine.py is to take (partition, reason), and takes (partition)" in (
        problem(folder)
    )


def test_it_is_an_error_of_the_configuration() -> None:
    assert issubclass(HandlerError, SettingsError)


@pytest.mark.parametrize("name", ["json.py", "logging.py", "tidegate.py", "azure.py"])
def test_a_file_that_would_replace_a_module_of_python_or_of_tidegate_is_refused(
    folder: Path, name: str
) -> None:
    write(folder, "def handle(events, context): ...\n", name)
    before = sys.modules.get(name.removesuffix(".py"))
    assert "Name the file otherwise" in problem(folder, f"{name}:handle")
    assert sys.modules.get(name.removesuffix(".py")) is before
