"""Ensures at start-up that the CustomResourceDefinitions exist: checks, waits for or creates them."""

import logging
from enum import Enum
from typing import Any, Final

from kohort.api.crds import WebhookService, definitions
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.resource import Resource
from kohort.kube.backoff import Backoff
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.manager.errors import StartError
from kohort.manager.permissions import KUEUE_KINDS
from kohort.webhooks.ca_targets import DEFINITIONS

log = logging.getLogger(__name__)

NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
REQUIRED_KINDS: Final = tuple(kind.info.resource.kind for kind in KUEUE_KINDS)


class WhenMissing(Enum):
    """What to do about missing CustomResourceDefinitions."""

    FAIL = "fail"
    WAIT = "wait"
    INSTALL = "install"


async def missing_definitions(client: Client) -> list[str]:
    """The required kinds that the server does not serve."""
    try:
        found: Any = await client.get_json(f"/apis/{V1BETA2}")
    except StatusError as error:
        if not error.is_not_found:
            raise
        return list(REQUIRED_KINDS)
    served = {each["kind"] for each in found.get("resources", ())}
    return [kind for kind in REQUIRED_KINDS if kind not in served]


async def ensure_crds(client: Client, namespace: str, service: str, when_missing: WhenMissing) -> None:
    """Return when all definitions are served; raises StartError if some are missing and `when_missing` is FAIL."""
    if when_missing is WhenMissing.INSTALL:
        # Also if the definitions exist: they may be left over from an installation in another namespace.
        await _create_namespace(client, namespace)
    missing = await missing_definitions(client)
    if not missing:
        return
    if when_missing is WhenMissing.FAIL:
        raise StartError(
            f"CRDs not found: {', '.join(missing)} ({V1BETA2}): "
            "run `kohort crds | kubectl apply --server-side -f -`, or start with --install-crds or --wait-for-crds"
        )
    if when_missing is WhenMissing.INSTALL:
        await _install(client, namespace, service)
    await _wait(client)


async def _create_namespace(client: Client, name: str) -> None:
    """Create a missing namespace; without permission it must exist, which later steps detect."""
    try:
        await _create(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except StatusError as error:
        if error.code != 403:
            raise
        log.warning("creating namespace failed: %s", error)


async def _install(client: Client, namespace: str, service: str) -> None:
    for each in definitions(WebhookService(namespace, service)):
        await _create(client, DEFINITIONS, each)


async def _create(client: Client, resource: Resource, wanted: Any) -> None:
    try:
        await client.of(resource).create(wanted)
    except StatusError as error:
        if not error.is_already_exists:
            raise
    else:
        log.info("created %s %s", resource.kind, wanted["metadata"]["name"])


async def _wait(client: Client) -> None:
    backoff, failures = Backoff(cap=10.0), 0
    while missing := await missing_definitions(client):
        failures += 1
        log.info("waiting for CRDs: %s", ", ".join(missing))
        await client.clock.sleep(backoff.delay(failures, client.random))
