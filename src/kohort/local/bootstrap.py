"""Applies the CustomResourceDefinitions and user roles of this version to a local cluster.

A file has the digest of what was applied, so that a start without changes writes nothing.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kohort.api.codec import Json, encode
from kohort.api.crds import WebhookService, definitions
from kohort.api.resource import Resource
from kohort.install.roles import user_roles
from kohort.jobs.builtin import built_in_frameworks
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import MergePatch
from kohort.manager.crds import missing_definitions
from kohort.webhooks.ca_targets import DEFINITIONS

_CLUSTER_ROLES: Final = Resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False)


@dataclass(frozen=True, slots=True)
class AppliedDigest:
    """A file with the digest of the objects applied to a cluster."""

    file: Path

    def has(self, wanted: Json) -> bool:
        """Whether exactly these objects were applied."""
        return self.file.exists() and self.file.read_text().strip() == _digest(wanted)

    def note(self, wanted: Json) -> None:
        """Record that these objects were applied."""
        self.file.write_text(_digest(wanted) + "\n")


def _digest(wanted: Json) -> str:
    return hashlib.sha256(encode(wanted)).hexdigest()


async def apply_bootstrap_objects(client: Client, namespace: str, folder: Path | None) -> None:
    """Update objects applied by an earlier version; an ephemeral cluster (no folder) is always new."""
    if folder is not None:
        await _renew_definitions(client, namespace, AppliedDigest(folder / "definitions"))
    await _renew_roles(client, AppliedDigest(folder / "roles") if folder is not None else None)


async def _renew_definitions(client: Client, namespace: str, memory: AppliedDigest) -> None:
    wanted = definitions(WebhookService(namespace))
    if memory.has(wanted):
        return
    if not await missing_definitions(client):
        for each in wanted:
            # The manager owns the conversion: its webhooks have other addresses at each start.
            spec = {name: value for name, value in each["spec"].items() if name != "conversion"}
            patch = MergePatch({"metadata": {"annotations": each["metadata"].get("annotations", {})}, "spec": spec})
            await client.of(DEFINITIONS).patch(("", each["metadata"]["name"]), patch)
    memory.note(wanted)


async def _renew_roles(client: Client, memory: AppliedDigest | None) -> None:
    """Apply roles such as `kueue-batch-user-role`, which `kohort install` prints for other clusters."""
    wanted = user_roles(built_in_frameworks())
    if memory is not None and memory.has(wanted):
        return
    for each in wanted:
        await apply_object(client, _CLUSTER_ROLES, each)
    if memory is not None:
        memory.note(wanted)


async def apply_object(client: Client, resource: Resource, wanted: dict[str, Any]) -> None:
    """Create or merge-patch an object; fields added by others stay."""
    objects = client.of(resource)
    try:
        await objects.create({"apiVersion": resource.api_version, "kind": resource.kind, **wanted})
    except StatusError as error:
        if not error.is_already_exists:
            raise
        metadata = wanted["metadata"]
        await objects.patch((metadata.get("namespace", ""), metadata["name"]), MergePatch(wanted))
