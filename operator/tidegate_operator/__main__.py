"""`python -m tidegate_operator`: the same as the command `tidegate-operator`."""

from __future__ import annotations

from tidegate_operator.cli import main

main()
