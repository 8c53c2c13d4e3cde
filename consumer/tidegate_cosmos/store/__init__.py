"""What the server keeps: databases, containers, ranges, items and their changes.

Rules: pure. The time is passed in; no request, answer or file is known here.
"""

from __future__ import annotations
