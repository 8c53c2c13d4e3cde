"""The jars of the installed pyspark that the image for Spark keeps."""

from __future__ import annotations

from pathlib import Path

import pyspark

from image.prune_jars import left_out, patterns
from support.tree import ROOT

INSTALLED = Path(pyspark.__file__).parent
JARS_LEFT_OUT = ROOT / "cluster" / "image" / "jars-left-out"


def kept_jars() -> list[Path]:
    """The installed jars that the image keeps."""
    jars = {path.name: path for path in (INSTALLED / "jars").iterdir()}
    without = left_out(jars, patterns(JARS_LEFT_OUT.read_text(encoding="utf-8")))
    return [path for name, path in sorted(jars.items()) if name not in without]
