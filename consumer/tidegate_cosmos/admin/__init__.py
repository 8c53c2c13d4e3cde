"""The admin API of a server: HTTP with an OpenAPI document.

Rules: this package is imported only where an admin port is given. What is decided is pure
(`control`, `handlers`, `table`); only `listener` does I/O, with what `tidegate_http` has.
"""

from __future__ import annotations
