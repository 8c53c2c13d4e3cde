"""What our own servers share: HTTP/1.1 with routes that document themselves, and how one runs.

Rules: it knows no server. What is decided is pure (`messages`, `guard`, `check`, `routes`,
`openapi`); bytes and requests are turned into each other without I/O in `http`; only `listener` has
sockets, and only `serving` threads and signals.
"""

from __future__ import annotations
