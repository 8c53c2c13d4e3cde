"""The command line: `kubectl consumergroup partitions|explain|watch|doctor|pause|resume|…`.

Rules: kubectl runs it as `kubectl-consumergroup` and hands all arguments on, so it takes kubectl's
own -n, --context and --kubeconfig. What goes through the ConsumerGroup alone is in commands.py.
"""

from __future__ import annotations

import argparse

from tidegate import __version__
from tidegate.commands import letters, rewind
from tidegate.commands.arguments import parsed
from tidegate_operator.plugin import ledgers
from tidegate_operator.plugin.cluster import PROGRAM, Cluster
from tidegate_operator.plugin.commands import (
    CODES,
    COMMANDS,
    Command,
    described,
    exit_code_of,
    name_option,
    output_option,
)
from tidegate_operator.plugin.doctor import doctor
from tidegate_operator.plugin.kubeconfig import the_cluster

_DESCRIPTION = "Looks at consumer groups and moves their partitions, with your own rights."
_IN_POD_HELP = "let one of the group's pods do it, for what is reached from there alone"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=PROGRAM, description=_DESCRIPTION, epilog=CODES)
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    output = argparse.ArgumentParser(add_help=False)
    output_option(output)
    where = argparse.ArgumentParser(add_help=False, parents=[_place()])
    name_option(where)

    def add(
        name: str, command: Command, *parents: argparse.ArgumentParser
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, help=command.text, description=described(command), parents=list(parents)
        )
        made.set_defaults(run=command.run)
        command.add_options(made)
        return made

    for name, each in COMMANDS.items():
        add(name, each, where, output)
    where_all = argparse.ArgumentParser(add_help=False, parents=[_place()])
    where_all.add_argument(
        "name", metavar="NAME", nargs="?", help="the ConsumerGroup; without it all of the namespace"
    )
    text = "say what is wrong with groups, and what to do"
    add("doctor", Command(doctor, text), where_all, output)
    text = "move checkpoints while the group runs, and clear the state"
    rewinding = add("rewind", Command(_rewind, text, rewind.add_options), where, output)
    rewinding.add_argument("--in-pod", action="store_true", help=_IN_POD_HELP)
    put_aside = add("deadletters", Command(_letters, "list, show and replay what was put aside"))
    inside = argparse.ArgumentParser(add_help=False, parents=[where, output])
    inside.add_argument("--in-pod", action="store_true", help=_IN_POD_HELP)
    letters.add_actions(put_aside, inside)
    return top


def _place() -> argparse.ArgumentParser:
    """What kubectl itself takes, and users write anywhere."""
    made = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    made.add_argument("-n", "--namespace", metavar="NS", help="default: that of the context")
    made.add_argument("--context", help="a context of the kubeconfig")
    made.add_argument("--kubeconfig", metavar="FILE", help="default: KUBECONFIG, ~/.kube/config")
    return made


async def _rewind(cluster: Cluster, arguments: argparse.Namespace) -> int:
    arguments.json = arguments.json or arguments.output == "json"
    if arguments.in_pod:
        return await ledgers.in_pod(cluster, arguments, ledgers.rewind_words(arguments))
    return await ledgers.rewound(cluster, arguments)


async def _letters(cluster: Cluster, arguments: argparse.Namespace) -> int:
    # A letter is shown as it is stored, which is JSON.
    if arguments.action != "show":
        arguments.json = arguments.json or arguments.output == "json"
    if arguments.in_pod:
        return await ledgers.in_pod(cluster, arguments, ledgers.letters_words(arguments))
    return await ledgers.seen_to(cluster, arguments)


def carried_out(words: list[str]) -> int:
    """The exit code of these arguments."""
    # Taken out first: argparse loses names that come after an option between them.
    place, others = _place().parse_known_args(words)
    arguments = parsed(parser(), others)
    vars(arguments).update(vars(place))
    return exit_code_of(_run(arguments), PROGRAM, can_be_in_pod=hasattr(arguments, "in_pod"))


async def _run(arguments: argparse.Namespace) -> int:
    async with the_cluster(arguments) as cluster:
        code: int = await arguments.run(cluster, arguments)
        return code
