"""What was refused is tried again after a pause that doubles, each thing by itself.

Rules:
- `about` is what was to be done, and to what: where it is another by now, it is tried at once.
- A pause is never shorter than the server asked for. A clock that was set back ends it.
- While it lasts the refusal goes on being told: whoever asks gets the problem itself.
- A Conflict is no refusal: somebody was quicker, and what stands is looked at anew.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from tidegate.ports import LedgerError
from tidegate_operator.kube_errors import Conflict, KubeError
from tidegate_operator.pauses import asked_pause_s, pause_s

FIRST_S, LONGEST_S = 1.0, 60.0

Problem = KubeError | LedgerError
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Refused:
    """What could not be done, how often in a row, and when it may be tried again."""

    problem: Problem
    about: object
    failures: int
    tried_at: float
    not_before: float


class Tries:
    """See the module."""

    def __init__(self) -> None:
        self._refused: dict[Hashable, Refused] = {}

    async def run(
        self,
        what: Hashable,
        about: object,
        act: Callable[[], Awaitable[Done]],
        now: Callable[[], float],
        dice: Callable[[], float],
    ) -> Done:
        """Does it, where it is time. Raises what it is refused with: the last problem where it is
        not time yet."""
        held = self.held(what, about, now())
        if held is not None:
            raise held.with_traceback(None)
        try:
            done = await act()
        except Conflict:
            raise
        except (KubeError, LedgerError) as problem:
            self.failed(what, about, problem, now(), dice)
            raise
        self.forget(what)
        return done

    def held(self, what: Hashable, about: object, now: float) -> Problem | None:
        """Why it is not to be tried now; None where it may be."""
        refused = self._refused.get(what)
        if refused is None or refused.about != about:
            return None
        return refused.problem if refused.tried_at <= now < refused.not_before else None

    def failed(
        self,
        what: Hashable,
        about: object,
        problem: Problem,
        now: float,
        dice: Callable[[], float],
    ) -> None:
        """It was refused just now."""
        before = self._refused.get(what)
        is_again = before is not None and before.about == about
        failures = before.failures + 1 if before is not None and is_again else 1
        pause = max(pause_s(failures, FIRST_S, LONGEST_S, dice), asked_pause_s(problem))
        self._refused[what] = Refused(problem, about, failures, now, now + pause)

    def refused(self, what: Hashable) -> Refused | None:
        """What it was refused with last; None where it was done since, or never tried."""
        return self._refused.get(what)

    def forget(self, what: Hashable) -> bool:
        """It is done, or may be tried at once; whether it had been refused."""
        return self._refused.pop(what, None) is not None
