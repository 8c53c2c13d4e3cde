"""The admin API of a hub server: HTTP with an OpenAPI document and a page to use it by hand.

Rules: this package is imported only where an admin port is given, so that a hub without one costs
no more than before. What is decided is pure (`reading`, `changing`); only `listener` does I/O, with
what `tidegate_http` has for any server.
"""

from __future__ import annotations
