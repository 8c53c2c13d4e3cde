"""An office of its own holds the group's secrets, and leaves no image of its memory."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from support.core_dumps import leaves_none

pytest.importorskip("pyspark", reason="pyspark comes with the layer `spark`")


def test_an_office_of_its_own_leaves_no_image_of_its_memory(tmp_path: Path) -> None:
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the hard limit for core dumps is 0 here, so that none can be made at all")
    leaves_none("from tidegate.spark.own_office import main; main('none', 'a', '1')", tmp_path)
