"""The last word to the user's code: `on_stop`, when nothing of it is called any more.

Rules: it has the time limits of any call; what goes wrong in it is reported and changes nothing
else, for everything is handed over by then.
"""

from __future__ import annotations

from tidegate.handlers.blame import CallFailedError
from tidegate.handlers.calls import Calls
from tidegate.handlers.threads import PartitionThread
from tidegate.handlers.tools import Tools
from tidegate.handling import HungError
from tidegate.member.messages import Report


async def call_on_stop(tools: Tools) -> None:
    """Calls it once, where there is one."""
    on_stop, policy = tools.code.on_stop, tools.policy
    if on_stop is None:
        return
    calls = Calls(
        "on_stop",
        lambda: PartitionThread("handler-stop"),
        policy.timeout_s,
        policy.told_s,
        lambda: None,
        lambda: None,
        tools.clock,
    )
    try:
        await calls.run(on_stop)
    except HungError:
        text = f"on_stop took longer than {policy.timeout_s:g} s and does not come back"
        tools.report(Report("on-stop-failed", None, text))
    except CallFailedError as error:
        tools.report(Report("on-stop-failed", None, f"on_stop failed: {error}"))
