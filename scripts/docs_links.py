"""For the site of the documentation: links to files of the tree become their names.

Where the documentation is read in the tree, such a link opens the file; the site has no such file.
"""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+)([^)#\s]+)(?:#[^)]*)?\)")


def named(text: str, depth: int) -> str:
    """`depth`: how many folders the page lies below that of the documentation."""

    def change(found: re.Match[str]) -> str:
        words, up, path = found[1], found[2].count("../"), found[3]
        if up <= depth:
            return found[0]
        shown = words.strip("`")
        return f"`{path}`" if path.endswith(shown) else f"{words} (`{path}`)"

    return _OUTSIDE.sub(change, text)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """As mkdocs calls it."""
    return named(markdown, page.file.src_uri.count("/"))
