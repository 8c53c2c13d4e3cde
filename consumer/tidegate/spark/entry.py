"""What a container of the Spark image is: `python -m tidegate.spark.entry WORD ...`, under an init.

Rules: Spark starts its executors on Kubernetes with the one word `executor` and describes the rest
in variables; what it means by them is made into a command here. `consumer` is the driver of a
group, as in the other image. Whatever else is said is run as given. What is found is executed in
place of this process, so that the init's signals reach it.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from tidegate.commands.dumps import no_core_dumps

EXECUTOR_CLASS = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")
# The argument of the executor's program, and the variable in which Spark says it.
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
MEMORY = "SPARK_EXECUTOR_MEMORY"
HOME = "SPARK_HOME"
HELP = """\
Name what this container is to be, then its arguments:
  consumer FILE   the driver of the group that the file describes (tidegate run)
  executor        an executor of Spark on Kubernetes; Spark itself starts these
  tidegate        the command line: tidegate --help
Any other program is run as given."""


class NotStarted(Exception):
    """There is nothing to start for what was said; the message says why."""


def command_of(words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The command that a container of these words runs; empty where it asks for help."""
    if not words or words[0] == "help":
        return []
    if words[0] == "consumer":
        return ["tidegate", "run", *words[1:]]
    if words[0] == "executor" and len(words) == 1:
        return executor_command(environ)
    return list(words)


def executor_command(environ: Mapping[str, str]) -> list[str]:
    """The JVM that Spark's scheduler asked for by these variables."""
    missing = [name for name in (HOME, MEMORY, *ARGUMENTS.values()) if not environ.get(name)]
    if missing:
        raise NotStarted(
            f"An executor is started by Spark, which says how in variables: {', '.join(missing)} "
            "are not set. For the driver of a group say: consumer FILE."
        )
    java_home = environ.get("JAVA_HOME")
    command = [f"{java_home}/bin/java" if java_home else "java", *java_options(environ)]
    command += [f"-Xms{environ[MEMORY]}", f"-Xmx{environ[MEMORY]}"]
    command += ["-cp", class_path(environ), EXECUTOR_CLASS]
    for argument, name in ARGUMENTS.items():
        command += [argument, environ[name]]
    return command


def java_options(environ: Mapping[str, str]) -> list[str]:
    """Options of the JVM, numbered by Spark: in the order of the numbers, not of the names."""
    numbered = {int(found[1]): name for name in environ if (found := OPTION.fullmatch(name))}
    return [environ[numbered[number]] for number in sorted(numbered)]


def class_path(environ: Mapping[str, str]) -> str:
    """Settings first, then what the group adds, then Spark's own jars."""
    home = environ[HOME]
    parts = [
        environ.get("SPARK_CONF_DIR") or f"{home}/conf",
        environ.get("HADOOP_CONF_DIR"),
        environ.get("SPARK_CLASSPATH"),
        f"{home}/jars/*",
        environ.get("SPARK_EXTRA_CLASSPATH"),
        environ.get("SPARK_DIST_CLASSPATH"),
    ]
    return ":".join(part for part in parts if part)


def main(words: Sequence[str]) -> int:
    """Become what was said; comes back only where that cannot be."""
    no_core_dumps(os.environ)
    try:
        command = command_of(words, os.environ)
        if not command:
            print(HELP)
            return 0
        os.execvp(command[0], command)
    except NotStarted as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{command[0]} cannot be run: {error.strerror}.\n{HELP}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
