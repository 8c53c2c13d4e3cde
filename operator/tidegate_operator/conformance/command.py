"""`tidegate conformance`: runs on your own cluster, and says whether P1 to P14 held.

Rules: an entry point of `tidegate.commands`, as `tidegate up` is. The report goes to standard
output, progress to standard error, files into --report. 0 only if all that was tried held.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Mapping
from pathlib import Path

from tidegate.commands.arguments import above_zero, count, seed
from tidegate.commands.codes import Code
from tidegate.group_file.nodes import document_of
from tidegate.settings import SettingsError

_PROGRAM = "tidegate conformance"


class _Conformance:
    """The command."""

    text = "disturb a group on your cluster, and check what Tidegate promises"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        # Imported here: `tidegate --help` asks for the text alone.
        from tidegate_operator.conformance.options import Engine, Images, Source  # noqa: PLC0415
        from tidegate_operator.conformance.rights import RIGHTS  # noqa: PLC0415

        images = Images()
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.description = (
            "Makes a group, sends it numbered events, kills and cuts off what it may, and checks\n"
            "P1 to P14 from outside. Exit codes: 0 all that was tried held, 1 not so, 2 the\n"
            "command line cannot be understood, 78 a setting, 130 broken off."
        )
        parser.epilog = f"Rights that it needs in the namespace:\n{RIGHTS}"
        add = parser.add_argument
        add("--minutes", type=above_zero, default=3.0, help="how long it disturbs (default: 3)")
        add("--seed", type=seed, help="plays the same plan again; without it one is drawn")
        add("-n", "--namespace", help="default: that of the context")
        add("--context", help="a context of the kubeconfig")
        add("--kubeconfig", metavar="FILE", help="default: KUBECONFIG, ~/.kube/config")
        add("--name", default="conformance", help="of the group and all else (default: this)")
        add("--engine", type=Engine, choices=list(Engine), default=Engine.PYTHON,
            help="default: python")  # fmt: skip
        add("--source", type=Source, choices=list(Source), default=Source.HUB, help="default: hub")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--embedded", action="store_true",
                           help="hub or Cosmos and storage as pods (the default)")  # fmt: skip
        where.add_argument("--group-file", type=Path, metavar="FILE",
                           help="a ConsumerGroup with a source and a ledger of your own, whose "
                           "Secrets are in the namespace; nothing else may use either")  # fmt: skip
        add("--operator", metavar="NS/NAME",
            help="the operator's Deployment, which may then be taken away and doubled")  # fmt: skip
        add("--replicas", type=count, default=3, metavar="N", help="consumers (default: 3)")
        add("--partitions", type=count, default=12, metavar="N", help="of the hub (default: 12)")
        add("--only", type=lambda text: tuple(text.split(",")), default=(), metavar="KIND,KIND",
            help="only these disturbances, as the report names them")  # fmt: skip
        add("--report", type=Path, metavar="DIR",
            help="writes report.txt, report.json, report.html and record.json there")  # fmt: skip
        add("--image", default=images.tidegate, help="default: %(default)s")
        add("--hub-image", default=images.hub, help="default: %(default)s")
        add("--storage-image", default=images.storage, help="default: %(default)s")
        add("--judge", type=Path, metavar="FILE", help="only judges a record.json anew")
        add("--roles", action="store_true", help="only prints Roles with the rights that it needs")
        add("--tidy", action="store_true", help="only removes what a run of --name has left")

    def run(self, arguments: argparse.Namespace, _environment: Mapping[str, str]) -> int:
        """Raises SettingsError."""
        try:
            # Imported here, so that a missing package is a line and no traceback.
            from tidegate_operator.conformance.carrying_out import carried_out  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            print(
                f"{_PROGRAM}: the package {missing.name} is missing: "
                "pip install 'tidegate[operator]'",
                file=sys.stderr,
            )
            return Code.FAILED
        if arguments.seed is None:
            arguments.seed = random.SystemRandom().randrange(1, 100_000)
        if arguments.group_file is not None:
            arguments.document = _document(arguments.group_file)
        return asyncio.run(carried_out(arguments))


def _document(path: Path) -> Mapping[str, object]:
    """The ConsumerGroup of a file. Raises SettingsError."""
    try:
        found = document_of(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path}: {problem}") from problem
    if not isinstance(found, Mapping) or found.get("kind") != "ConsumerGroup":
        raise SettingsError(f"{path}: it is no ConsumerGroup: write one as for `kubectl apply -f`")
    return found


CONFORMANCE = _Conformance()
