"""What was made for groups and is not watched: changed or deleted by somebody, it is noticed here.

Rules: now and then each of these kinds is listed once for all groups, by metadata alone. Where a
version is not the one that was left there, the group is looked at. Nothing is written from here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from tidegate_operator.apply import Applier
from tidegate_operator.kinds import (
    CONFIG_MAP,
    DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    ObjectName,
)
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import GroupKey
from tidegate_operator.objects import Api
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.watching import list_versions

_log = logging.getLogger("tidegate.operator.unwatched")

KINDS = (CONFIG_MAP, DISRUPTION_BUDGET, SERVICE, SERVICE_ACCOUNT)
# Of groups on Spark alone: where there are none to be, the operator need not have the right.
SPARK_KINDS = (ROLE, ROLE_BINDING)


class Unwatched:
    """See the module. `changed` wakes a group."""

    def __init__(
        self,
        kube: Api,
        settings: OperatorSettings,
        applier: Applier,
        changed: Callable[[GroupKey], None],
    ) -> None:
        self._kube = kube
        self._settings = settings
        self._applier = applier
        self._changed = changed
        self._trouble = ""

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(self._settings.unwatched_every_s)
            await self.look()

    async def look(self) -> None:
        """Once. What cannot be listed is still looked at one by one, though more rarely."""
        kinds = (*KINDS, *SPARK_KINDS) if self._settings.spark_image else KINDS
        for kind in kinds:
            try:
                listed = await list_versions(self._kube, self._settings.namespaces, kind)
            except KubeError as problem:
                if str(problem) != self._trouble:
                    _log.warning("what was made for groups cannot be compared: %s", problem)
                self._trouble = str(problem)
                return
            versions = {
                ObjectName(kind, place.namespace, place.name): version.resource_version
                for place, version in listed.items()
            }
            for key in self._applier.compare(kind, versions):
                self._changed(key)
        self._trouble = ""
