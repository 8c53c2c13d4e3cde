"""What a driver is made of: its settings, office, session and query, each made here.

Rules: made in the order in which they need each other, and all that can be checked is checked
first. What a part needs to be ended goes on the stack that is passed in.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.commands.wiring import Setup
from tidegate.ops.around import OpsSettings
from tidegate.ops.secrets import Secrets
from tidegate.settings import SettingsError
from tidegate.spark import shipping
from tidegate.spark.around import DriverBoard, Relay, around_driver
from tidegate.spark.columns import columns_of, source_schema
from tidegate.spark.failures import shortened
from tidegate.spark.file_note import PLACE, FileNote
from tidegate.spark.java import ensure_java
from tidegate.spark.office import Office
from tidegate.spark.pipelines import load_pipeline
from tidegate.spark.pod_note import PodNote
from tidegate.spark.query import Query
from tidegate.spark.running import PipelineRun
from tidegate.spark.secret_conf import VARIABLE, make_conf
from tidegate.spark.session import Session, spark_home
from tidegate.spark.session_conf import (
    NAMESPACE,
    OFFICE_PORT,
    ClusterPlace,
    LocalPlace,
    session_conf,
)
from tidegate.spark.source_place import check_group, kind_of, place_of
from tidegate.spark.standalone import Standalone
from tidegate.spark.standing import Standing


@dataclass(frozen=True, slots=True)
class DriverOptions:
    """What the command line says of a driver."""

    name: str
    grace_s: float
    ops: OpsSettings
    # A folder, with a file for each member.
    scratch: Path | None = None
    pod_uid: str = ""
    executors: int = 1
    executors_file: Path | None = None
    only_checks: bool = False


class Parts:
    """See the module."""

    def __init__(
        self, setup: Setup, options: DriverOptions, environment: Mapping[str, str]
    ) -> None:
        """Raises SettingsError."""
        self.setup, self.options = setup, options
        self._environment = environment
        self._spec = setup.group.spark
        check_group(setup)
        self._kind = kind_of(place_of(setup))
        _of_schema(lambda: source_schema(self._spec.schema, self._kind))
        self._spark_home = spark_home()
        self._cluster = ClusterPlace.of(environment) if environment.get(NAMESPACE) else None
        self._files = shipping.found_files(self._spec.deps.files, setup.folder)
        shipping.make_importable(self._files)
        self._known = frozenset(sys.modules)
        self._pipeline = load_pipeline(setup.group.spec.handler.code, setup.folder)
        self._java_home = Path() if options.only_checks else ensure_java(environment)
        expected = options.executors if self._cluster is None else self._cluster.executors
        self.board = DriverBoard(options.name, expected, time.monotonic)
        self.standing = Standing(time.time(), Secrets(setup.secrets).hide)

    def new_office(self) -> Office:
        options, cluster, relay = self.options, self._cluster, Relay()
        note: PodNote | FileNote | None = None
        if cluster is not None:
            note = PodNote(cluster.namespace, cluster.pod, self.standing)
        elif self._environment.get(PLACE):
            note = FileNote(Path(self._environment[PLACE]), self.standing)

        def around() -> Any:
            return around_driver(
                options.ops, self.setup, self.board, self.standing, note, self._environment, relay
            )

        return Office(
            self.setup,
            options.name,
            observer=relay,
            scratch=options.scratch,
            host="127.0.0.1" if cluster is None else cluster.pod_ip,
            port=0 if cluster is None else OFFICE_PORT,
            pod_uid=options.pod_uid,
            around=around,
        )

    def open_session(self, stack: ExitStack, folder: Path) -> tuple[Session, Standalone | None]:
        """Starts Spark, and on one machine what runs its executors. Raises SettingsError,
        DriverEndedError."""
        standalone: Standalone | None = None
        settings: Path | None = None
        if self._cluster is None:
            settings = make_conf(folder / "conf", self._environment.get(VARIABLE, ""))
            standalone = self._standalone(folder, settings)
            stack.callback(standalone.stop)
            place: LocalPlace | ClusterPlace = LocalPlace(standalone.start(), folder)
            standalone.scale(self.options.executors)
        else:
            place = self._cluster
        conf = session_conf(self.setup.group.name, self._spec, place)
        session = Session.open(conf, self._java_home, settings)
        stack.callback(session.stop)
        packed = folder / "pipeline.zip"
        own = [str(packed)] if shipping.pack(self._known, self.setup.folder, packed) else []
        files = shipping.kept(self._files, folder / "files")
        with session.telling_its_end():
            session.ship([*files, *own])
        return session, standalone

    def _standalone(self, folder: Path, settings: Path) -> Standalone:
        executor = self._spec.executor
        return Standalone(
            self._spark_home,
            self._java_home,
            folder / "standalone",
            cores=executor.cores,
            memory_mib=executor.memory_mib,
            conf=settings,
        )

    def new_run(self, office: Office) -> PipelineRun:
        return PipelineRun(self._pipeline, office, self.setup, self.options.name)

    def new_query(self, session: Session, office: Office, run: PipelineRun, folder: Path) -> Query:
        """Raises SettingsError where the schema cannot be read."""
        # Imported here: it may be imported only where a session is.
        from tidegate.spark.source import driven_source  # noqa: PLC0415

        spark, name = session.spark, self.setup.group.name
        source = driven_source(self.setup, office.address, office.token)
        spark.dataSource.register(source)
        new = spark.readStream.format(source.name())
        _of_schema(lambda: columns_of(new.load().schema, self._kind))
        every = f"{self._spec.trigger_s * 1000:.0f} milliseconds"

        def begin(on_batch: Callable[[Any, int], None], life: Path) -> Any:
            frame = spark.readStream.format(source.name()).load()
            writer = frame.writeStream.queryName(name).foreachBatch(on_batch)
            writer = writer.option("checkpointLocation", life.as_uri())
            return writer.trigger(processingTime=every).start()

        return Query(begin, run, office, self.standing, folder)


def _of_schema(look: Callable[[], object]) -> None:
    """Looks at the schema; what is wrong with it, by us or by Spark, is said of its key."""
    try:
        look()
    except SettingsError as error:
        raise SettingsError(f"spec.spark.{error}") from None
    # Whatever Spark's parser raises.
    except Exception as error:
        raise SettingsError(f"spec.spark.schema: {shortened(str(error))}") from None
