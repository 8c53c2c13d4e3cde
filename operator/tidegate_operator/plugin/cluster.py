"""The cluster, as the person who asks may see and change it: groups by name, and their Secrets.

Rules: everything is done with that person's own rights; what they lack is said by verb and
resource. A name that is not there is answered with the one that was probably meant.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable

from tidegate.commands.wiring import Setup
from tidegate.settings import SettingsError
from tidegate_operator.kinds import CONSUMER_GROUP, Document
from tidegate_operator.kube_errors import Conflict, Denied, NotThere
from tidegate_operator.objects import Groups
from tidegate_operator.plugin.changes import Change
from tidegate_operator.secrets import KnownSecrets, SecretReader
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import read_spec, secrets_of

PROGRAM = "kubectl consumergroup"
# Who wrote a field, as `kubectl get --show-managed-fields` says it.
FIELD_MANAGER = "kubectl-consumergroup"
_WRITTEN_AT_MOST = 5


class Cluster:
    """Groups of one namespace. People call `program`, with `options`, to look at them."""

    def __init__(
        self, kube: Groups, namespace: str, program: str = PROGRAM, options: str = ""
    ) -> None:
        self.kube = kube
        self.namespace = namespace
        self.program = program
        self._options = options

    def command(self, words: str) -> str:
        """A command that can be typed exactly so."""
        return f"`{self.program} {words} -n {self.namespace}{self._options}`"

    async def group(self, name: str) -> Document:
        """The group. Raises NotThere with the name that was probably meant."""
        found = await self.kube.find(CONSUMER_GROUP, self.namespace, name)
        if found is not None:
            return found
        raise NotThere(await self._missing(name))

    async def change(self, name: str, make: Callable[[Document], Change]) -> Change:
        """Writes what `make` makes of the group as it stands; again where somebody was quicker."""
        for _ in range(_WRITTEN_AT_MOST):
            document = await self.group(name)
            change = make(document)
            if not change.patch:
                return change
            version = document["metadata"]["resourceVersion"] if change.is_fenced else None
            try:
                await self.kube.patch(
                    CONSUMER_GROUP, self.namespace, name, change.patch, resource_version=version
                )
            except Conflict as problem:
                quicker = problem
            else:
                return change
        raise quicker

    async def setup(self, document: Document) -> Setup:
        """What it takes to reach the group's ledger and source. Raises SettingsError, KubeError."""
        name, spec = document["metadata"]["name"], read_spec(document)
        settings = OperatorSettings(FIELD_MANAGER, self.namespace)
        reader = SecretReader(self.kube, settings, KnownSecrets(), time.monotonic)
        sight = await reader.look(self.namespace, secrets_of(spec), None, salt=name)
        if sight.failures:
            raise SettingsError(" ".join(failure.message for failure in sight.failures))
        return sight.setup_of(name, spec)

    async def _missing(self, name: str) -> str:
        here = f"there is no group '{name}' in namespace '{self.namespace}'"
        names = [each["metadata"]["name"] for each in await self._listed(self.namespace)]
        close = difflib.get_close_matches(name, names, 1, 0.5)
        if close:
            return f"{here}: did you mean '{close[0]}'?"
        elsewhere = [
            each["metadata"]["namespace"]
            for each in await self._listed(None)
            if each["metadata"]["name"] == name
        ]
        if elsewhere:
            return f"{here}; there is one in {', '.join(elsewhere)}: add -n {elsewhere[0]}"
        return f"{here}; there {'are: ' + ', '.join(names) if names else 'is none at all'}"

    async def _listed(self, namespace: str | None) -> list[Document]:
        """The groups, by their metadata; none where they may not be listed."""
        try:
            return await self.kube.list(CONSUMER_GROUP, namespace, metadata_only=True)
        except Denied:
            return []
