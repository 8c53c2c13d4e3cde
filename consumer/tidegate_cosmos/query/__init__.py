"""The part of the query language that leases and small tests need, from text to answers.

Rules: pure. What is outside that part is refused with what it is and what there is instead, never
answered wrongly.
"""

from __future__ import annotations
