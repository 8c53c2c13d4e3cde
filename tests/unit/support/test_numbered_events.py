"""Numbered events are what they claim to be: out of order, never late, and of known totals."""

from __future__ import annotations

import itertools
import json

from support.numbered_events import WINDOWS, count, event, name_of, truth
from tidegate.delivery.state import State
from tidegate.windows import TumblingWindows

EVENTS = 60_000


class Partition:
    """What windows want of a context."""

    def __init__(self) -> None:
        self.state = State("0", None, 1 << 20)
        self.memory: dict[str, object] = {}
        self.now = 0.0


def test_windows_that_count_each_event_once_say_the_truth() -> None:
    partition = Partition()
    written: dict[str, object] = {}
    for first in range(0, EVENTS, 500):
        windows = WINDOWS.of(partition)
        for number in range(first, first + 500):
            count(windows, json.loads(event(number)))
        for window in windows.due(first * 0.01):
            written[name_of(window.start)] = window.contents
        partition.state.commit()
    for window in WINDOWS.of(partition).due(EVENTS * 1.0):
        written[name_of(window.start)] = window.contents
    assert written == truth(EVENTS)
    assert len(written) == 4


def test_times_are_out_of_order_but_not_beyond_the_lateness() -> None:
    times = [json.loads(event(number))["ms"] / 1000 for number in range(EVENTS)]
    highest = itertools.accumulate(times, max)
    behind = [top - at for top, at in zip(highest, times, strict=True)]
    assert 1 < max(behind) < WINDOWS.lateness_s
    assert isinstance(WINDOWS, TumblingWindows)
