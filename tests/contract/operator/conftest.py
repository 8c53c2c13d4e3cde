"""What the tests of the operator's edges share: a container of their own, and who was woken."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tidegate_operator.model import GroupKey


@pytest.fixture
def container() -> str:
    return f"c-{uuid4().hex[:12]}"


@pytest.fixture
def woken() -> list[GroupKey]:
    return []
