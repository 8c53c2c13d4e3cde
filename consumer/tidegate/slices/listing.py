"""A listing of slices, read into versions and sizes. Pure.

Rules: of names that are none of ours nothing is said. What is written in a way that is not known
here, or is cut off, is an error and never a shorter list.
"""

from __future__ import annotations

import re

from tidegate.slices.naming import PROJECTION, Version, version_of
from tidegate.slices.shape import SliceStorageError

_BLOB = re.compile(
    rb"<Blob><Name>([^<&]+)</Name>(?:(?!</?Blob>).)*?<Content-Length>(\d+)</Content-Length>",
    re.DOTALL,
)
_MARKER = re.compile(rb"<NextMarker>([^<&]*)</NextMarker>")


def projections(body: bytes) -> tuple[list[tuple[Version, int]], str]:
    """The projections on a page with their sizes, and the marker of the next page, if any.

    Raises SliceStorageError.
    """
    found = _BLOB.findall(body)
    if len(found) != body.count(b"<Blob>") or b"</EnumerationResults>" not in body:
        raise SliceStorageError("the service's listing of slices cannot be read")
    marker = _MARKER.search(body)
    listed = []
    for name, size in found:
        parsed = version_of(name.decode())
        if parsed is not None and parsed[1] == PROJECTION:
            listed.append((parsed[0], int(size)))
    return listed, marker[1].decode() if marker is not None else ""
