"""The admin API of a hub server: HTTP with an OpenAPI document and a page to use it by hand.

Rules: this package is imported only where an admin port is given, so that a hub without one costs
no more than before. What is decided is pure (`guard`, `routes`, `check`, `reading`, `changing`);
bytes and requests are turned into each other without I/O in `http`; only `listener` has sockets.
"""

from __future__ import annotations
