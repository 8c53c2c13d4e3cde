"""How long a write has stood: never longer than it has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.ledger.cosmos.ages import Ages

ITEM = {"id": "a", "_etag": "1", "_ts": 1000}


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def test_a_version_is_as_old_as_it_was_seen_to_stand() -> None:
    clock = Clock()
    ages = Ages(clock)
    ages.see(ITEM)
    clock.now += 7
    ages.see(ITEM)
    assert ages.of(ITEM) == 7
    ages.see(ITEM | {"_etag": "2"})
    assert ages.of(ITEM | {"_etag": "2"}) == 0
    assert ages.of(ITEM) == 0, "another version stands now"


def test_a_newcomer_goes_by_the_services_clock() -> None:
    clock = Clock()
    ages = Ages(clock)
    ages.told_time(1030.0)
    ages.see(ITEM)
    assert ages.of(ITEM) == 28
    clock.now += 10
    assert ages.server_time == 1040.0
    assert ages.of(ITEM) == 38


@given(
    st.floats(0, 0.999),
    st.lists(st.tuples(st.floats(0, 9), st.booleans()), max_size=8),
    st.floats(-1, 1),
)
def test_no_write_is_ever_thought_older_than_it_is(
    fraction: float, looks: list[tuple[float, bool]], skew: float
) -> None:
    """The service tells whole seconds, and its machines' clocks differ by up to one."""
    clock, wrote_at = Clock(), 1000 + fraction
    ages = Ages(clock)
    true_time = wrote_at
    for pause, tells_time in looks:
        clock.now += pause
        true_time += pause
        if tells_time:
            ages.told_time(float(int(true_time + skew)))
        ages.see(ITEM)
        assert ages.of(ITEM) <= true_time - wrote_at + 1e-6
