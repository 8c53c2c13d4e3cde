"""The settings of a Spark session, from those of the group and the place where it runs. Pure.

Rules: what the user writes in `sparkConf` comes first and ours over it; what the two would both
say was refused before (`owned_keys`), so nothing of the user's is lost in silence. No secret is
among them: they stand on the command line of the JVM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.group_file.spark_spec import SparkSpec
from tidegate.settings import SettingsError

# What the operator tells the driver's pod.
NAMESPACE = "TIDEGATE_POD_NAMESPACE"
POD = "TIDEGATE_MEMBER"
POD_IP = "TIDEGATE_POD_IP"
IMAGE = "TIDEGATE_EXECUTOR_IMAGE"
PULL_POLICY = "TIDEGATE_EXECUTOR_PULL_POLICY"
ACCOUNT = "TIDEGATE_EXECUTOR_ACCOUNT"
TEMPLATE = "TIDEGATE_EXECUTOR_TEMPLATE"
EXECUTORS = "TIDEGATE_EXECUTORS"
# The container of a template that is the executor's own.
CONTAINER = "executor"

DRIVER_PORT = 7078
BLOCKS_PORT = 7079
OFFICE_PORT = 7081
UI_PORT = 4040
# Of a core, in thousandths, that an executor asks the cluster for, for each of its cores.
CPU_OF_CORE = 250
# Kubernetes takes names of 63 characters; Spark adds to these.
_LONGEST_PREFIX = 47
_MOST_DIGITS = 4

# What a user may change, where we have a better value than Spark's own.
_DEFAULTS = {
    # Micro-batches are small: the 200 of Spark's own would be 200 tasks with nothing to do.
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    "spark.locality.wait": "0s",
    "spark.ui.showConsoleProgress": "false",
    # Whoever sees its pages ends nothing by them.
    "spark.ui.killEnabled": "false",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    # A session that runs for weeks remembers little of its past.
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "2000",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    # What the shuffles of past batches left is found by the garbage collector alone, and an
    # executor that ends moves all that is left.
    "spark.cleaner.periodicGC.interval": "2min",
    # Executors log without end, and of each task unless they are told as the driver is.
    "spark.log.level": "WARN",
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.executor.logs.rolling.strategy": "size",
    "spark.executor.logs.rolling.maxSize": str(8 << 20),
    "spark.executor.logs.rolling.maxRetainedFiles": "2",
    # Executors that were lost long ago do not count against the application.
    "spark.executor.failuresValidityInterval": "10min",
}

# What depends on nothing.
_ALWAYS = {
    "spark.submit.deployMode": "client",
    "spark.dynamicAllocation.enabled": "false",
    "spark.speculation": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # The first executor can begin: its member owns what there is until others come.
    "spark.scheduler.minRegisteredResourcesRatio": "0",
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    # An executor ends in the round after the last one; Spark's own 30 s would be its whole grace.
    "spark.storage.decommission.replicationReattemptInterval": "1s",
    "spark.ui.enabled": "true",
    "spark.ui.prometheus.enabled": "true",
    # Tasks hold the hub's address: nobody else reads them, or asks for any. The secret is Spark's
    # own in a cluster, and on one machine it stands in a file.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    # A JVM without memory ends, so that it is begun anew, and does not linger.
    "spark.driver.defaultJavaOptions": "-XX:+ExitOnOutOfMemoryError",
    "spark.executor.defaultJavaOptions": "-XX:+ExitOnOutOfMemoryError",
}


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """One machine: Spark standalone, started by us."""

    master: str
    # For what Spark writes; removed with the driver.
    folder: Path

    def defaults(self, _spec: SparkSpec) -> dict[str, str]:
        return {}

    def conf(self, _group: str, _spec: SparkSpec) -> dict[str, str]:
        return {
            "spark.master": self.master,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Any free one: several drivers may run on a machine.
            "spark.ui.port": "0",
            "spark.local.dir": str(self.folder / "local"),
        }


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """A driver pod on Kubernetes, with executors of Spark's StatefulSet allocator."""

    namespace: str
    pod: str
    pod_ip: str
    image: str
    # How many executors there are at first; from then on the operator alone says.
    executors: int = 1
    pull_policy: str = ""
    account: str = ""
    template: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> ClusterPlace:
        """What the operator has told the pod. Raises SettingsError."""
        for name in (POD, POD_IP, IMAGE):
            if not environment.get(name):
                raise SettingsError(f"{NAMESPACE} is set and {name} is not: the operator sets both")
        executors = environment.get(EXECUTORS, "1")
        if not (executors.isdecimal() and len(executors) <= _MOST_DIGITS):
            raise SettingsError(f"{EXECUTORS} {executors!r}: write how many executors there are")
        return cls(
            environment[NAMESPACE],
            environment[POD],
            environment[POD_IP],
            environment[IMAGE],
            # Spark ends by itself where it begins with none.
            max(int(executors), 1),
            environment.get(PULL_POLICY, ""),
            environment.get(ACCOUNT, ""),
            environment.get(TEMPLATE, ""),
        )

    def defaults(self, spec: SparkSpec) -> dict[str, str]:
        """What a user may change."""
        cpu = f"{spec.executor.cores * CPU_OF_CORE}m"
        return {
            "spark.kubernetes.executor.request.cores": cpu,
            # Spark marks the pod of an executor that has failed and looks for marked ones no more:
            # who is begun anew in its place would be missed, and ended, half a minute later. An
            # executor that is gone is known by its connection and by the watch.
            "spark.kubernetes.executor.missingPodDetectDelta": "3650d",
        }

    def conf(self, group: str, spec: SparkSpec) -> dict[str, str]:
        executor = spec.executor
        found = {
            "spark.master": "k8s://https://kubernetes.default.svc:443",
            "spark.driver.host": self.pod_ip,
            "spark.driver.bindAddress": "0.0.0.0",
            "spark.driver.port": str(DRIVER_PORT),
            "spark.driver.blockManager.port": str(BLOCKS_PORT),
            "spark.blockManager.port": str(BLOCKS_PORT),
            "spark.ui.port": str(UI_PORT),
            "spark.executor.instances": str(self.executors),
            "spark.executor.memoryOverhead": f"{executor.overhead_mib}m",
            "spark.kubernetes.namespace": self.namespace,
            "spark.kubernetes.container.image": self.image,
            # So that executors end with the driver's pod.
            "spark.kubernetes.driver.pod.name": self.pod,
            "spark.kubernetes.executor.podNamePrefix": group[:_LONGEST_PREFIX].rstrip("-."),
            "spark.kubernetes.allocation.pods.allocator": "statefulset",
            # The driver may delete nothing, and make nothing but a StatefulSet, which goes with its
            # pod.
            "spark.kubernetes.executor.deleteOnTermination": "false",
            "spark.kubernetes.executor.disableConfigMap": "true",
            "spark.kubernetes.driver.service.deleteOnTermination": "false",
            "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        }
        if self.pull_policy:
            found["spark.kubernetes.container.image.pullPolicy"] = self.pull_policy
        if self.account:
            found["spark.kubernetes.authenticate.executor.serviceAccountName"] = self.account
        if self.template:
            found["spark.kubernetes.executor.podTemplateFile"] = self.template
            found["spark.kubernetes.executor.podTemplateContainerName"] = CONTAINER
        return found


Place = LocalPlace | ClusterPlace


def session_conf(group: str, spec: SparkSpec, place: Place) -> dict[str, str]:
    """Everything that the session is given."""
    packages = {"spark.jars.packages": ",".join(spec.deps.packages)} if spec.deps.packages else {}
    return {
        **_DEFAULTS,
        **place.defaults(spec),
        **spec.spark_conf,
        **_ALWAYS,
        **packages,
        "spark.app.name": group,
        "spark.driver.memory": f"{spec.driver.memory_mib}m",
        "spark.executor.memory": f"{spec.executor.memory_mib}m",
        "spark.executor.cores": str(spec.executor.cores),
        **place.conf(group, spec),
    }
