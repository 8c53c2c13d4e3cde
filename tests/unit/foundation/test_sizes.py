"""Upper bounds for the length of files and functions."""

from __future__ import annotations

import ast

from support.tree import files_of, named, parsed

LINES_IN_A_FILE = 600
LINES_IN_A_FUNCTION = 70


def long_functions(tree: ast.Module) -> list[tuple[str, int]]:
    """The functions of a module that are too long, with their lines."""
    functions = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    sized = ((node.name, (node.end_lineno or 0) - node.lineno + 1) for node in functions)
    return [(name, lines) for name, lines in sized if lines > LINES_IN_A_FUNCTION]


def test_no_file_is_longer_than_600_lines() -> None:
    too_long = {
        named(path): lines
        for path in files_of(".py", ".java", ".js", ".mjs", ".sh", "Makefile")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LINES_IN_A_FILE
    }
    assert not too_long, (
        f"{too_long}: a file has at most {LINES_IN_A_FILE} lines. Find the second thing that it "
        "is about and give that a module of its own."
    )


def test_no_function_is_longer_than_70_lines() -> None:
    too_long = {
        f"{named(path)}: {name}": lines
        for path in files_of(".py")
        for name, lines in long_functions(parsed(path))
    }
    assert not too_long, (
        f"{too_long}: a function has at most {LINES_IN_A_FUNCTION} lines. Give a name to the part "
        "that can stand alone and take it out."
    )


def test_every_module_opens_with_its_purpose() -> None:
    silent = [named(path) for path in files_of(".py") if not ast.get_docstring(parsed(path))]
    assert not silent, f"{silent}: open each module with a docstring: what it is for, its rules"


def test_a_function_of_71_lines_is_found() -> None:
    body = "\n".join("    pass" for _ in range(70))
    for kind in ("def", "async def"):
        assert long_functions(ast.parse(f"{kind} long():\n{body}")) == [("long", 71)]
    assert long_functions(ast.parse("def short():\n    pass")) == []
