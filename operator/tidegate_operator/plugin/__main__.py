"""Where `kubectl-consumergroup` begins; it wants the packages of `tidegate[operator]`."""

from __future__ import annotations

import os
import sys

from tidegate.commands.codes import Code
from tidegate.commands.dumps import no_core_dumps
from tidegate_http.output import standard_output


def main() -> None:
    with standard_output("kubectl consumergroup"):
        _main()


def _main() -> None:
    no_core_dumps(os.environ)
    try:
        # Imported here, so that a missing package is a line and no traceback.
        from tidegate_operator.plugin.cli import carried_out  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "kubernetes":
            raise
        print(
            "kubectl consumergroup: the package 'kubernetes' is not installed: install "
            "tidegate[operator]",
            file=sys.stderr,
        )
        sys.exit(Code.CONFIGURATION)
    sys.exit(carried_out(sys.argv[1:]))


if __name__ == "__main__":
    main()
