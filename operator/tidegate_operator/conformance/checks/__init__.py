"""P1 to P14: what is promised of a group, each judged over the record of a run.

Rules: pure; a check is a function of the record alone. What was not provoked, or cannot be seen
from outside, is 'not tried' with its reason and is never counted as held.
"""
