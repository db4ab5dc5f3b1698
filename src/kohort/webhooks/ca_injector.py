"""Writes the CA bundle into all objects that refer to the manager's servers.

Level-triggered and idempotent, so every replica does it; a second write changes nothing.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import JsonObject
from kohort.kube.client import Client
from kohort.kube.errors import ConfigError, KubeError, StatusError
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.rate_limiter import TokenBucket
from kohort.webhooks.ca_targets import (
    API_SERVICES,
    DEFINITIONS,
    SchemalessCrdResource,
    WebhookTrust,
    api_service_patch,
    configuration_patch,
    definition_patch,
    missing_configurations,
)
from kohort.webhooks.configurations import CONFIGURATIONS, InCluster, ManagerEndpoint
from kohort.webhooks.registrations import AnyRegistration, WebhookType

log = logging.getLogger(__name__)

MANAGER = WriteOptions(field_manager="kohort-webhooks")
_BURST, _RATE = 40, 0.2
"""Burst of writes, and then writes per second: enough for a renewal; limits clients that overwrite each other."""
_CONTENDED = "another client keeps changing it: use one webhook URL for all managers"
CaPatch = Callable[[JsonObject, WebhookTrust], JsonObject | None]


def _never_changed(_handler: Callable[[], None]) -> None:
    """For registrations that stay the same."""


@dataclass(frozen=True, slots=True)
class WebhookWiring:
    """The location of the manager's servers, and the registered webhooks."""

    manager: ManagerEndpoint
    registrations: Callable[[], Sequence[AnyRegistration]]
    """Returns the webhooks that are registered now."""
    aggregated: InCluster | None = None
    """The Service of the aggregated API."""
    subscribe: Callable[[Callable[[], None]], None] = _never_changed
    """Adds a function to call when the webhooks have changed."""


class CaInjector:
    """Patches webhook configurations, CRDs and APIServices that refer to the manager's servers."""

    def __init__(self, client: Client, informers: SharedInformerFactory, wiring: WebhookWiring) -> None:
        self._client = client
        self._bucket = TokenBucket(client.clock, _RATE, _BURST)
        self._wiring = wiring
        self._configurations = {act: informers.of(resource) for act, resource in CONFIGURATIONS.items()}
        self._targets: list[tuple[Informer[Any], CaPatch]] = [
            *((informer, _configuration(act)) for act, informer in self._configurations.items()),
            (informers.of(SchemalessCrdResource(DEFINITIONS)), definition_patch),
        ]
        if wiring.aggregated is not None:
            self._targets.append((informers.of(API_SERVICES), _api_service(wiring.aggregated)))

    def subscribe(self, enqueue: Callable[[], None]) -> None:
        """Call a function whenever an object may need a patch."""
        self._wiring.subscribe(enqueue)
        for informer, _ in self._targets:
            informer.subscribe(lambda _old, _new: enqueue())

    async def inject(self, bundle: bytes) -> None:
        """Patch objects that lack the bundle; raises the first error after trying all."""
        trust = WebhookTrust(self._wiring.manager, self._wiring.registrations(), bundle)
        failures = [
            failure
            for failure in [*(await self._create(trust)), *(await self._patch_all(trust))]
            if not (isinstance(failure, StatusError) and (failure.is_conflict or failure.is_not_found))
        ]
        if failures:
            raise failures[0]

    async def _create(self, trust: WebhookTrust) -> list[KubeError]:
        failures: list[KubeError] = []
        if not all(informer.synced for informer in self._configurations.values()):
            return failures
        names = frozenset(key.name for informer in self._configurations.values() for key in informer.cache.all_keys())
        for act, wanted in missing_configurations(names, trust):
            try:
                await self._client.of(CONFIGURATIONS[act]).create(wanted, options=MANAGER)
            except KubeError as error:
                failures.append(error)
        return failures

    async def _patch_all(self, trust: WebhookTrust) -> list[KubeError]:
        failures: list[KubeError] = []
        for informer, patch_for in self._targets:
            for found in list(informer.cache):
                patch = patch_for(found, trust)
                if patch is not None:
                    failures += await self._patched(informer, found, patch)
        return failures

    async def _patched(self, informer: Informer[Any], found: JsonObject, patch: JsonObject) -> list[KubeError]:
        identity = informer.objects.kind.identity(found)
        if not self._bucket.try_take():
            return [ConfigError(f"{found['kind']} {identity.key}: {_CONTENDED}")]
        guarded = {**patch, "metadata": {"resourceVersion": identity.version}}
        try:
            await informer.objects.patch(identity.key, MergePatch(guarded), MANAGER)
        except KubeError as error:
            return [error]
        log.info("updated CA bundle of %s %s", found["kind"], identity.key)
        return []


def _configuration(act: WebhookType) -> CaPatch:
    return lambda found, trust: configuration_patch(act, found, trust)


def _api_service(service: InCluster) -> CaPatch:
    return lambda found, trust: api_service_patch(found, service, trust.bundle)
