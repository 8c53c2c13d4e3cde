"""The command line of the operator: `tidegate-operator run`.

Rules: everything about the process is an argument; of the environment only the pod's own name, the
cluster to connect to and TIDEGATE_CORE_DUMPS are read. What is wrong is one line, and the exit code
says whose it is: 1 the operator could not go on, 2 the command line, 78 a setting. SIGTERM, SIGINT
and SIGHUP end it with 0; a second one, or 25 s after the first, with 130.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tidegate import __version__
from tidegate.commands.arguments import count, seconds
from tidegate.commands.codes import Code
from tidegate.commands.dumps import no_core_dumps
from tidegate.commands.last_words import end, say
from tidegate.ops import logs
from tidegate.ops.serving import Address
from tidegate.settings import SettingsError
from tidegate_http.output import standard_output
from tidegate_http.shutdown import SHUTDOWN, EndedEarly, Listener
from tidegate_operator.handlers import watching
from tidegate_operator.identity import COSMOS, HUBS, STORAGE, IdentityHosts, hosts_of
from tidegate_operator.kube import connected
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.page.admission import ByKubernetes
from tidegate_operator.page.serving import serve_console
from tidegate_operator.pod_security import Profile
from tidegate_operator.running import EndedError, Operator
from tidegate_operator.secrets import KnownSecrets
from tidegate_operator.settings import OperatorSettings

POD = "POD_NAME"
_STORAGE_HOSTS, _HUB_HOSTS = "--identity-storage-hosts", "--identity-hub-hosts"
_COSMOS_HOSTS = "--identity-cosmos-hosts"
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

# Of the 30 s that Kubernetes gives a pod.
_GRACE_S = 25.0

_log = logging.getLogger("tidegate.operator")


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="tidegate-operator",
        description="Looks after the ConsumerGroups of a Kubernetes cluster.",
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="look after them until SIGTERM or Ctrl-C")
    add = run.add_argument
    where = run.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NAME",
        help="a namespace whose groups are looked after; can be given more than once",
    )
    where.add_argument(
        "--all-namespaces", action="store_true", help="look after the groups of every namespace"
    )
    _add_images(run)
    _add_identity_hosts(run)
    add(
        "--pod-security",
        default=str(Profile.BASELINE),
        choices=[str(profile) for profile in Profile],
        help="refuse pod templates of groups outside this profile of Kubernetes' Pod Security "
        "Standards (default: %(default)s)",
    )
    add(
        "--leader-namespace",
        metavar="NAME",
        help="where the Lease is that says which operator acts (default: this pod's namespace)",
    )
    add(
        "--leader-name",
        default="tidegate-operator",
        metavar="NAME",
        help="the name of that Lease (default: %(default)s)",
    )
    add(
        "--settled-tick-s",
        type=seconds,
        default=5.0,
        metavar="S",
        help="how often a group is looked at on which nothing goes on (default: %(default)g)",
    )
    add(
        "--rollouts-at-once",
        type=count,
        default=10,
        metavar="N",
        help="how many groups get new pods at once after an upgrade (default: %(default)d)",
    )
    add("--listen", metavar="[HOST:]PORT", help="serve metrics, health and groups there")
    add("--console", metavar="[HOST:]PORT", help="serve the console there, to who has a token")
    add("--log-level", default="INFO", choices=logs.LEVELS, help="(default: %(default)s)")
    add("--log-format", default="auto", choices=("auto", "json", "text"), help="of the log")
    return top


def _add_identity_hosts(run: argparse.ArgumentParser) -> None:
    for option, service, hosts in (
        (_STORAGE_HOSTS, "storage", STORAGE),
        (_HUB_HOSTS, "Event Hubs", HUBS),
        (_COSMOS_HOSTS, "Cosmos DB", COSMOS),
    ):
        run.add_argument(
            option,
            default=",".join(hosts),
            metavar="LIST",
            help=f"the hosts to which tokens of the operator's own identity for {service} may go, "
            "with commas between them; one that begins with a dot is the end of hosts; '': none "
            "(default: those of Azure)",
        )


def _add_images(run: argparse.ArgumentParser) -> None:
    add = run.add_argument
    add("--image", required=True, help="the image of the groups that name none")
    add(
        "--spark-image",
        default="",
        metavar="IMAGE",
        help="the same for groups with engine: spark; without it there are none",
    )
    add(
        "--image-pull-policy",
        default="IfNotPresent",
        choices=("Always", "IfNotPresent", "Never"),
        help="of their pods (default: %(default)s)",
    )


def settings_of(arguments: argparse.Namespace, environment: Mapping[str, str]) -> OperatorSettings:
    """Raises SettingsError."""
    name = environment.get(POD) or socket.gethostname()
    return OperatorSettings(
        # A process that is started anew under the same name is another one.
        identity=f"{name}_{uuid.uuid4().hex[:8]}",
        leader_namespace=arguments.leader_namespace or _own_namespace(),
        leader_name=arguments.leader_name,
        namespaces=tuple(dict.fromkeys(arguments.namespace)),
        image=arguments.image,
        spark_image=arguments.spark_image,
        image_pull_policy=arguments.image_pull_policy,
        identity_hosts=IdentityHosts(
            hosts_of(_STORAGE_HOSTS, arguments.identity_storage_hosts),
            hosts_of(_HUB_HOSTS, arguments.identity_hub_hosts),
            hosts_of(_COSMOS_HOSTS, arguments.identity_cosmos_hosts),
        ),
        pod_security=Profile(arguments.pod_security),
        settled_tick_s=arguments.settled_tick_s,
        rollouts_at_once=arguments.rollouts_at_once,
    ).checked()


def _own_namespace() -> str:
    try:
        return _OWN_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:
        raise SettingsError(
            "--leader-namespace: name one; outside of a pod there is no namespace of its own"
        ) from None


def main(given: Sequence[str] | None = None) -> None:
    """Carries out what the arguments say."""
    with standard_output("tidegate-operator"):
        arguments = parser().parse_args(given)
        SHUTDOWN.begin(lambda text: say(f"tidegate-operator: {text}"))
        no_core_dumps(os.environ)
        code = _run(arguments, os.environ)
        SHUTDOWN.over(code)
        end(code)


def _run(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    hidden = KnownSecrets()
    try:
        settings = settings_of(arguments, environment)
        listen = Address.parse(arguments.listen) if arguments.listen else None
        console = Address.parse(arguments.console) if arguments.console else None
        as_json = None if arguments.log_format == "auto" else arguments.log_format == "json"
        logs.set_up(hidden, level=arguments.log_level, as_json=as_json)
        _look_for_rubbish_less_often()
        asyncio.run(_operate(settings, listen, console, hidden))
    except SettingsError as problem:
        say(f"tidegate-operator: {problem}")
        return Code.CONFIGURATION
    except (KubeError, EndedError) as problem:
        say(f"tidegate-operator: {hidden.hide(str(problem))}")
        return Code.FAILED
    except EndedEarly as ended:
        say(f"tidegate-operator: {ended}")
    except asyncio.CancelledError:
        return Code.CUT
    return Code.DONE


def _look_for_rubbish_less_often() -> None:
    """What is remembered of hundreds of groups is a million objects, which live long.

    Python's collector goes through them again and again for rubbish that hardly ever is there: a
    quarter of all CPU at its own thresholds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 10)


async def _operate(
    settings: OperatorSettings,
    listen: Address | None,
    console: Address | None,
    hidden: KnownSecrets,
) -> None:
    stop, task = asyncio.Event(), asyncio.current_task()
    assert task is not None, "it is run by asyncio.run"
    listener = Listener(
        lambda _: stop.set(), lambda _: task.cancel(), loop=asyncio.get_running_loop()
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(SHUTDOWN.listening(listener, _GRACE_S))
        kube = await stack.enter_async_context(connected())
        control = await stack.enter_async_context(connected())
        _log.info("operator %s of version %s", settings.identity, __version__)
        # kopf is to end after the others.
        watch = watching(SHUTDOWN.take)
        operator = Operator(settings, kube, control, hidden, watch)
        if console is not None:
            shown = await serve_console(
                console, operator.cache, ByKubernetes(kube), time.time, operator.leader.is_led
            )
            stack.push_async_callback(shown.close)
            _log.info("the console at %s", shown.url)
        await operator.run(listen, stop)
