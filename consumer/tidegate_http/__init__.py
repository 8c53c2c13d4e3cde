"""HTTP/1.1 for our own servers: connections, their sockets, routes that document themselves.

Rules: it knows no server. What is decided is pure (`messages`, `guard`, `check`, `routes`,
`openapi`); bytes and requests are turned into each other without I/O in `http`; only `listener` has
sockets.
"""

from __future__ import annotations
