"""What is measured of a ten-fold rise: ours within seconds, KEDA's model by its own clock."""

from __future__ import annotations

import scaling_reaction
from scaling_keda import SYNC_S


def test_ten_times_as_much_is_answered_by_ours_within_5_s_and_by_keda_at_its_next_syncs() -> None:
    ours = [scaling_reaction.reaction_s(number, 7, is_ours=True) for number in (0, 9)]
    theirs = [scaling_reaction.reaction_s(number, 7, is_ours=False) for number in (0, 9)]
    assert max(ours) <= scaling_reaction.TARGET_S
    assert all(0 < each <= 2 * SYNC_S for each in theirs)
