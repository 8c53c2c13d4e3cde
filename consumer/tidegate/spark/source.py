"""The data source `tidegate` of Spark: `spark.dataSource.register(TidegateDataSource)`.

    spark.readStream.format("tidegate").option("file", "group.yaml").load()

Rules: what it opens, its readers open. A driver of ours gives it by class what else is in options,
so that neither the desk's token nor the source's key ever stands among the options of a query.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from tidegate.delivery.policy import OnFailure
from tidegate.spark.batch_reader import TidegateReader
from tidegate.spark.columns import Kind, columns_of, source_schema
from tidegate.spark.options import (
    batch_options,
    check,
    file_option,
    schema_option,
    stream_options,
)
from tidegate.spark.planning import Terms
from tidegate.spark.source_place import kind_of, place_of
from tidegate.spark.stream_reader import TidegateStreamReader
from tidegate.spark.tasks import DeskPlace

if TYPE_CHECKING:
    from tidegate.commands.wiring import Setup

NAME = "tidegate"


class TidegateDataSource(DataSource):
    """See the module."""

    # Of a driver of ours: how tasks are made, and the schema of the bodies.
    terms: ClassVar[Terms | None] = None
    of_bodies: ClassVar[str | None] = None

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        if self.terms is not None:
            return source_schema(self.of_bodies, kind_of(self.terms.source))
        # Of a stream's reader Spark hides what was wrong.
        check(self.options)
        setup = self._setup()
        schema = schema_option(self.options) or setup.group.spark.schema
        return source_schema(schema, kind_of(place_of(setup)))

    def streamReader(self, schema: StructType) -> TidegateStreamReader:  # noqa: N802
        if self.terms is None:
            stream_options(self.options)
        return TidegateStreamReader(self.options, columns_of(schema, self._kind()), self.terms)

    def reader(self, schema: StructType) -> TidegateReader:
        return TidegateReader(batch_options(self.options), columns_of(schema, self._kind()))

    def _kind(self) -> Kind:
        return kind_of(place_of(self._setup()) if self.terms is None else self.terms.source)

    def _setup(self) -> Setup:
        # Imported here: a driver of ours does without.
        from tidegate.commands.wiring import set_up  # noqa: PLC0415

        return set_up(Path(file_option(self.options)), os.environ, runs_code=False)


def driven_source(setup: Setup, address: str, token: str) -> type[TidegateDataSource]:
    """The source as a driver registers it, whose office is at this address; it has no options.

    Raises SettingsError.
    """
    spark = setup.group.spark
    delivery = setup.group.spec.delivery
    made = Terms(
        place_of(setup),
        DeskPlace(address, token),
        spark.executor.cores,
        delivery.on_failure is OnFailure.DEAD_LETTER,
        says_done=False,
    )

    class DrivenDataSource(TidegateDataSource):
        """The source of one driver: it goes to Spark's processes with what it holds."""

        terms = made
        of_bodies = spark.schema

    return DrivenDataSource
