"""The Tidegate operator: decides how many consumers a group should have, and why.

It may import tidegate; tidegate never imports it. Each keeps working while the other is down.
"""

from __future__ import annotations
