"""A process that holds secrets leaves no image of its memory behind; nor does what it starts.

Rules:
- It is done before a secret is read, and goes over to every child and every program that this
  process becomes: a JVM that is started here has it too.
- Two ways that an image is made are closed: as a file, by a limit of 0, and by a program that the
  kernel's `core_pattern` names, which asks for no limit, by a filter that leaves all memory out.
- The soft limit alone is set, and `TIDEGATE_CORE_DUMPS=1` leaves all as the machine has it, for who
  looks for a crash: such an image holds every secret of the process.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

# The variable that lets images be made.
ALLOWED = "TIDEGATE_CORE_DUMPS"
# Which kinds of memory are in an image, as bits.
FILTER = Path("/proc/self/coredump_filter")


def no_core_dumps(environment: Mapping[str, str], place: Path = FILTER) -> None:
    """From now on, also for what this process starts; unless the environment allows them."""
    if environment.get(ALLOWED) == "1":
        return
    if sys.platform == "win32":  # where nothing of this is, but kubectl's plugin may be
        return
    import resource  # noqa: PLC0415

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    # Other systems than Linux do not have it.
    if not place.exists():
        return
    try:
        place.write_text("0", encoding="ascii")
    except OSError as error:
        what = f"tidegate: {place} cannot be written ({error.strerror}): where the kernel's "
        print(
            f"{what}core_pattern is a program, that is given this process's memory if it crashes. "
            "Write a file's name there, or have the program keep nothing.",
            file=sys.stderr,
        )
