"""The REST surface: from a request to what is done in the store, and from that to an answer.

Rules: pure. The time is passed in, and what a client asks for is carried out at once or not at all.
"""

from __future__ import annotations
