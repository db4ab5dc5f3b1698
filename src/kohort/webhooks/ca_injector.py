"""Keeps the trust of API servers up to date: whatever names our servers is told by which authorities to verify them.

Level-triggered and idempotent, so every replica does it; who comes second changes nothing.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    LeanKind,
    Patch,
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
"""Writes at once, and then per second: enough for every step of a renewal, and a bound for quarrels."""
_QUARREL = "somebody else keeps changing it: let all managers use one webhook URL"
Mend = Callable[[JsonObject, WebhookTrust], Patch | None]


@dataclass(frozen=True, slots=True)
class WebhookWiring:
    """Where our servers are, and what is registered."""

    manager: ManagerEndpoint
    registrations: Sequence[AnyRegistration]
    aggregated: InCluster | None = None
    """The Service of the aggregated API."""


class CaInjector:
    """Follows everything that may name our servers."""

    def __init__(self, client: Client, informers: SharedInformerFactory, wiring: WebhookWiring) -> None:
        self._client = client
        self._bucket = TokenBucket(client.clock, _RATE, _BURST)
        self._trust = WebhookTrust(wiring.manager, wiring.registrations, b"")
        self._configurations = {act: informers.of(resource) for act, resource in CONFIGURATIONS.items()}
        self._followed: list[tuple[Informer[Any], Mend]] = [
            *((informer, _configuration(act)) for act, informer in self._configurations.items()),
            (informers.of(LeanKind(DEFINITIONS)), definition_patch),
        ]
        if wiring.aggregated is not None:
            self._followed.append((informers.of(API_SERVICES), _api_service(wiring.aggregated)))

    def subscribe(self, wake: Callable[[], None]) -> None:
        """Have somebody woken whenever there may be something to do."""
        for informer, _ in self._followed:
            informer.subscribe(lambda _old, _new: wake())

    async def inject(self, bundle: bytes) -> None:
        """Mend what lacks the bundle; raises the first error after having tried all."""
        trust = replace(self._trust, bundle=bundle)
        failures = [
            failure
            for failure in [*(await self._create(trust)), *(await self._mend(trust))]
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

    async def _mend(self, trust: WebhookTrust) -> list[KubeError]:
        failures: list[KubeError] = []
        for informer, mend in self._followed:
            for found in list(informer.cache):
                patch = mend(found, trust)
                if patch is not None:
                    failures += await self._patched(informer, found, patch)
        return failures

    async def _patched(self, informer: Informer[Any], found: JsonObject, patch: Patch) -> list[KubeError]:
        identity = informer.objects.kind.identity(found)
        if not self._bucket.try_take():
            return [ConfigError(f"{found['kind']} {identity.key}: {_QUARREL}")]
        guarded = {**patch, "metadata": {"resourceVersion": identity.version}}
        try:
            await informer.objects.patch(identity.key, MergePatch(guarded), MANAGER)
        except KubeError as error:
            return [error]
        log.info("%s %s trusts the webhooks", found["kind"], identity.key)
        return []


def _configuration(act: WebhookType) -> Mend:
    return lambda found, trust: configuration_patch(act, found, trust)


def _api_service(service: InCluster) -> Mend:
    return lambda found, trust: api_service_patch(found, service, trust.bundle)
