"""The loads that members announce: rounded, and announced anew only where they have changed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.balance import load_to_announce


def test_a_load_is_announced_in_hundredths() -> None:
    assert load_to_announce(0.312, None) == 0.31
    assert load_to_announce(0.338, None) == 0.34
    assert load_to_announce(-0.2, None) == 0.0


@given(st.floats(0, 5), st.floats(-0.99, 0.99))
def test_a_load_that_wavers_by_a_tenth_or_a_hundredth_is_announced_once(
    load: float, share: float
) -> None:
    announced = load_to_announce(load, None)
    wavering = announced + share * max(announced / 10, 0.01)
    assert load_to_announce(wavering, announced) == announced


@pytest.mark.parametrize(("before", "now"), [(0.5, 0.56), (0.5, 0.44), (0.03, 0.045), (0.02, 0.0)])
def test_a_load_that_has_changed_by_more_is_announced_anew(before: float, now: float) -> None:
    assert load_to_announce(now, before) == round(now, 2)


def test_a_partition_keeps_the_figure_of_its_former_owner_until_it_is_measured() -> None:
    assert load_to_announce(None, 0.4) == 0.4
    assert load_to_announce(None, None) == 0.0
    assert load_to_announce(math.nan, 0.4) == 0.4
