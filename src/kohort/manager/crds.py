"""The CustomResourceDefinitions that must be there before anything starts: found, waited for, or created."""

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
NEEDED: Final = tuple(kind.info.resource.kind for kind in KUEUE_KINDS)


class WhenMissing(Enum):
    """What to do about definitions that are not there."""

    FAIL = "fail"
    WAIT = "wait"
    INSTALL = "install"


async def missing_definitions(client: Client) -> list[str]:
    """The needed kinds that the server does not serve."""
    try:
        found: Any = await client.get_json(f"/apis/{V1BETA2}")
    except StatusError as error:
        if not error.is_not_found:
            raise
        return list(NEEDED)
    served = {each["kind"] for each in found.get("resources", ())}
    return [kind for kind in NEEDED if kind not in served]


async def ensure_crds(client: Client, namespace: str, service: str, when_missing: WhenMissing) -> None:
    """Return when all definitions are served; raises StartError where they are missing and nobody said to wait."""
    if when_missing is WhenMissing.INSTALL:
        # Also where the definitions are there: they may be left over from an installation in another namespace.
        await _create_namespace(client, namespace)
    missing = await missing_definitions(client)
    if not missing:
        return
    if when_missing is WhenMissing.FAIL:
        raise StartError(
            f"the server has no {', '.join(missing)} ({V1BETA2}): "
            "run `kohort crds | kubectl apply --server-side -f -`, or start with --install-crds or --wait-for-crds"
        )
    if when_missing is WhenMissing.INSTALL:
        await _install(client, namespace, service)
    await _wait(client)


async def _create_namespace(client: Client, name: str) -> None:
    """Create it where it is missing; without the right to, it must be there, which the next step finds out."""
    try:
        await _create(client, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    except StatusError as error:
        if error.code != 403:
            raise
        log.warning("can't create the namespace: %s", error)


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
        log.info("waiting for definitions of %s", ", ".join(missing))
        await client.clock.sleep(backoff.delay(failures, client.random))
