"""Checks whether the servers behind APIServices are available and what they serve, for discovery and their status."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kohort.api.codec import Json
from kohort.api.times import format_time
from kohort.embedded.auth.users import LOOPBACK
from kohort.embedded.resources import ServedResource, Subresource
from kohort.embedded.server.aggregation.aggregator import API_SERVICES, Aggregator
from kohort.embedded.server.registry.resource_catalog import ResourceCatalog
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.server.requests.request_info import ServerRequest, parse_request_info
from kohort.embedded.storage import RevisionConflictError, Store, StoredObject
from kohort.kube.clock import Clock
from kohort.kube.errors import StatusError

_AGAIN = 30.0
_PATIENCE = 5.0


class _Availability(NamedTuple):
    """Status, reason and message of the condition `Available`."""

    status: str
    reason: str
    message: str


class ApiServiceAvailability:
    """Polls discovery of the servers behind APIServices, on registration and periodically."""

    def __init__(
        self, store: Store, store_writer: StoreWriter, catalog: ResourceCatalog, aggregator: Aggregator, clock: Clock
    ) -> None:
        self._store = store
        self._store_writer = store_writer
        self._catalog = catalog
        self._aggregator = aggregator
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    def refresh_soon(self) -> None:
        """Starts polling, and continues while any APIService is registered."""
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        await self.refresh()
        while self._aggregator.services:
            await self._clock.sleep(_AGAIN)
            await self.refresh()

    async def refresh(self) -> None:
        """Polls each server once; updates discovery before the condition `Available`."""
        foreign: list[ServedResource] = []
        verdicts = []
        for entry in self._store.list(API_SERVICES).entries:
            resources, availability = await self._look(entry.object.get("spec") or {})
            foreign += resources
            verdicts.append((entry, availability))
        self._catalog.set_aggregated(foreign)
        for entry, availability in verdicts:
            await self._report(entry, availability)

    async def _look(self, spec: Mapping[str, Any]) -> tuple[list[ServedResource], _Availability]:
        if (spec.get("group"), spec.get("version")) not in self._aggregator.services:
            return [], _Availability("True", "Local", "Local APIServices are always available")
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._served(spec), _Availability("True", "Passed", "all checks passed")
        except (StatusError, TimeoutError) as error:
            why = str(error) or "the server did not answer in time"
            return [], _Availability("False", "FailedDiscoveryCheck", why)

    async def _served(self, spec: Mapping[str, Any]) -> list[ServedResource]:
        request = ServerRequest("GET", f"/apis/{spec['group']}/{spec['version']}")
        document = await self._aggregator.document(request, parse_request_info(request), LOOPBACK)
        return list(aggregated_resources(spec["group"], spec["version"], document))

    async def _report(self, entry: StoredObject, availability: _Availability) -> None:
        conditions = (entry.object.get("status") or {}).get("conditions") or ()
        if any((each.get("status"), each.get("reason")) == availability[:2] for each in conditions):
            return
        condition = {
            "type": "Available",
            "lastTransitionTime": format_time(self._clock.wall()),
            **availability._asdict(),
        }
        try:
            await self._store_writer.update(entry, {**entry.object, "status": {"conditions": [condition]}})
        except RevisionConflictError:
            return  # the next poll sees the concurrent change

    async def close(self) -> None:
        """Stops polling."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def aggregated_resources(group: str, version: str, document: Mapping[str, Json]) -> Iterable[ServedResource]:
    """The resources in an aggregated server's discovery document."""
    entries = [each for each in document.get("resources") or () if isinstance(each, dict)]
    below: dict[str, list[Subresource]] = {}
    for each in entries:
        plural, _, name = str(each.get("name")).partition("/")
        if name:
            verbs = tuple(map(str, each.get("verbs") or ()))
            below.setdefault(plural, []).append(Subresource(name, str(each.get("kind")), verbs))
    for each in entries:
        plural = str(each.get("name"))
        if "/" not in plural:
            yield ServedResource(
                group,
                version,
                plural,
                str(each.get("kind")),
                bool(each.get("namespaced")),
                singular=str(each.get("singularName") or ""),
                short_names=tuple(map(str, each.get("shortNames") or ())),
                categories=tuple(map(str, each.get("categories") or ())),
                verbs=tuple(map(str, each.get("verbs") or ())),
                subresources=tuple(below.get(plural, ())),
            )
