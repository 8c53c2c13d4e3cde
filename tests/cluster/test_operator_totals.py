"""The end of the group whose events are counted, after all that the tests before did to it."""

from __future__ import annotations

import pytest

from support.cluster_api import until
from support.cluster_counting import PARTITIONS, Counted

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


def test_everything_that_was_ever_sent_was_handled_in_order(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = counted.stop_sending()

    def is_handled() -> bool:
        return counted.log.is_handled(PARTITIONS, sent)

    def look() -> bool:
        counted.read_on()
        return is_handled()

    until(look, 60, f"{sent} events of each partition", counted.log.standing)
    with capsys.disabled():
        print(
            f"\n{sent * PARTITIONS} events sent and handled, {counted.log.duplicates} of them again"
        )
    counted.assert_exact()
    assert all(counted.log.through(str(number)) == sent - 1 for number in range(PARTITIONS))
