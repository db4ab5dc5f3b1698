"""Adds job frameworks that ConfigMaps declare to a running manager, and removes them (JOB-236).

Every replica does it, because each serves webhooks. The ConfigMaps are in the manager's namespace, so that only its
administrators declare frameworks.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from kohort.api.core.config_objects import ConfigMap
from kohort.api.core.objects import ObjectReference
from kohort.api.errors import ApiError
from kohort.controllers.context import ControllerContext
from kohort.jobs.contract import DeclaredKind, Framework
from kohort.jobs.declarative import DECLARATION_LABEL, parse_framework
from kohort.jobs.registry import FrameworkRegistry, RegistryError
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventToRecord
from kohort.kube.informer import Informer
from kohort.kube.options import ListScope
from kohort.kube.workqueue import WorkQueue
from kohort.manager.errors import StartError
from kohort.manager.permissions import check_permissions, patch_permissions, watch_permissions

log = logging.getLogger(__name__)

NAME: Final = "declared-frameworks"
REJECTED: Final = "FrameworkRejected"
"""Reason of the event of a file that cannot be used."""
RECHECK_SECONDS: Final = 60.0
"""Delay of the next check of missing permissions, of whose changes there is no event."""


@dataclass(frozen=True, slots=True)
class DeclarationFile:
    """One key of a ConfigMap."""

    config_map: ObjectReference
    name: str
    text: str

    def __str__(self) -> str:
        return f"ConfigMap {self.config_map.namespace}/{self.config_map.name}, {self.name}"

    def framework(self) -> DeclaredKind:
        """The framework that it declares; raises RegistryError."""
        return parse_framework(self.text)


@asynccontextmanager
async def running_declared_frameworks(context: ControllerContext, registry: FrameworkRegistry) -> AsyncIterator[None]:
    """Keeps the registry equal to the declarations until the context exits."""
    scope = ListScope(context.settings.namespace, labels=f"{DECLARATION_LABEL}=true")
    informer = context.informers.of(ConfigMap, scope)
    controller = _DeclaredFrameworks(context, registry, informer).controller()
    starting = asyncio.create_task(_start_after_sync(controller, informer))
    try:
        yield
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await controller.stop()


async def _start_after_sync(controller: Controller[str], informer: Informer[ConfigMap]) -> None:
    """Start the workers once all declarations are listed: a reconcile that waits would delay the end of the manager."""
    await informer.wait_for_sync()
    controller.start()


class _DeclaredFrameworks:
    """Compares the declarations of all ConfigMaps with the frameworks that were added."""

    def __init__(self, context: ControllerContext, registry: FrameworkRegistry, informer: Informer[ConfigMap]) -> None:
        self._context = context
        self._registry = registry
        self._informer = informer
        self._recorder = context.recorder(NAME)
        self._logged: dict[str, str] = {}
        self._recorded: dict[str, str] = {}
        """Problems by file, as logged by this replica, and as recorded while it leads."""

    def controller(self) -> Controller[str]:
        """The controller; all declarations are one key, because they may conflict."""
        queue = WorkQueue[str](self._context.clock, NAME)
        self._informer.subscribe(lambda _old, _new: queue.add(NAME))
        self._context.on_started_leading(lambda: queue.add(NAME))
        queue.add(NAME)
        return Controller(NAME, queue, lambda _key: self._reconcile(), self._context.clock)

    async def _reconcile(self) -> RequeueAfter | None:
        problems: dict[DeclarationFile, ApiError] = {}
        wanted = _parsed(_files(self._informer.cache), problems)
        self._remove_all_but(wanted.values())
        names = set[str]()
        for file, framework in wanted.items():
            try:
                await self._add(framework, names)
            except (RegistryError, StartError) as error:
                problems[file] = error
        self._report(problems)
        has_missing = any(isinstance(each, StartError) for each in problems.values())
        return RequeueAfter(RECHECK_SECONDS) if has_missing else None

    def _remove_all_but(self, wanted: Iterable[DeclaredKind]) -> None:
        kept = [each.declaration for each in wanted]
        for name, framework in list(self._registry.added.items()):
            if not isinstance(framework, DeclaredKind) or framework.declaration not in kept:
                self._registry.remove(name)
                log.info("framework %s is not declared any more", name)

    async def _add(self, framework: DeclaredKind, before: set[str]) -> None:
        """Add a framework that is new; `before` has the names of those in earlier files, and gets its name."""
        if framework.name in before:
            raise RegistryError(f"framework {framework.name!r} is declared by another file: remove one")
        before.add(framework.name)
        current = self._registry.added.get(framework.name)
        if isinstance(current, DeclaredKind) and current.declaration == framework.declaration:
            return
        await _check_framework_permissions(self._context.client, framework)
        self._registry.add(framework)
        log.info("framework %s is declared for %s", framework.name, framework.resource.kind)

    def _report(self, problems: dict[DeclarationFile, ApiError]) -> None:
        """Log and record each new problem once."""
        now = {str(file): str(error) for file, error in problems.items()}
        for file, message in now.items():
            if self._logged.get(file) != message:
                log.warning("%s: framework rejected: %s", file, message)
        self._logged = now
        if not self._context.leads():
            return
        for found, error in problems.items():
            if self._recorded.get(str(found)) != str(error):
                note = EventToRecord("Warning", REJECTED, f"{found.name}: {error}")
                self._recorder.record(found.config_map, note)
        self._recorded = now


def _files(config_maps: Iterable[ConfigMap]) -> Iterator[DeclarationFile]:
    """All files in a fixed order: the oldest ConfigMap first, so that a later one cannot take over a kind."""
    for each in sorted(config_maps, key=lambda found: (str(found.metadata.creation_timestamp), found.metadata.name)):
        metadata = each.metadata
        reference = ObjectReference(
            api_version="v1",
            kind="ConfigMap",
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
        )
        for name in sorted(each.data):
            yield DeclarationFile(reference, name, each.data[name])


def _parsed(
    files: Iterable[DeclarationFile], problems: dict[DeclarationFile, ApiError]
) -> dict[DeclarationFile, DeclaredKind]:
    """The frameworks of all valid files; errors are added to the problems."""
    found: dict[DeclarationFile, DeclaredKind] = {}
    for file in files:
        try:
            found[file] = file.framework()
        except RegistryError as error:
            problems[file] = error
    return found


async def _check_framework_permissions(client: Client, framework: Framework) -> None:
    """Raise StartError if the manager lacks a permission on the kind."""
    await check_permissions(
        client, (*watch_permissions(framework.resources), *patch_permissions((framework.resource,)))
    )
