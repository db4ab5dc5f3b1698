"""The objects of `--starter`: a Topology, a ResourceFlavor, a ClusterQueue of the nodes' size and a LocalQueue.

The only level of the Topology is the node, so that a job is admitted only if each of its pods fits on a node: quota is
the sum over nodes, on which a pod larger than the rest of any node would wait. Missing objects are created; existing
ones are never changed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kohort.api.amounts import format_amount, to_amount
from kohort.api.codec import Json
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Topology
from kohort.api.kueue.v1beta2.flavors import HOSTNAME_LABEL
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.errors import StatusError

NAME: Final = "default"
NAMESPACE: Final = "default"
_EVERY_NODE: Final = {"kubernetes.io/os": "linux"}
"""A flavor with a topology needs node labels; all nodes of a local cluster have this one."""
_FIRST: Final = ("cpu", "memory")


def total(offers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The sum of the nodes' resources: cpu and memory first, then by name."""
    sums: dict[str, int] = {}
    for offer in offers:
        for resource, amount in offer.items():
            sums[resource] = sums.get(resource, 0) + to_amount(resource, amount)
    ordered = sorted(sums, key=lambda resource: (resource not in _FIRST, resource))
    return {resource: format_amount(resource, sums[resource]) for resource in ordered}


def starter_objects(offers: Iterable[Mapping[str, str]]) -> Iterator[tuple[Resource, Json]]:
    """The objects in order of creation."""
    quota = total(offers)
    flavor = {"name": NAME, "resources": [{"name": each, "nominalQuota": amount} for each, amount in quota.items()]}
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": list(quota), "flavors": [flavor]}],
    }
    yield Topology.info.resource, {"metadata": {"name": NAME}, "spec": {"levels": [{"nodeLabel": HOSTNAME_LABEL}]}}
    yield (
        ResourceFlavor.info.resource,
        {"metadata": {"name": NAME}, "spec": {"nodeLabels": _EVERY_NODE, "topologyName": NAME}},
    )
    yield ClusterQueue.info.resource, {"metadata": {"name": NAME}, "spec": spec}
    metadata = {"name": NAME, "namespace": NAMESPACE}
    yield LocalQueue.info.resource, {"metadata": metadata, "spec": {"clusterQueue": NAME}}


async def place_starter(client: Client, offers: Iterable[Mapping[str, str]]) -> list[str]:
    """Create missing objects; returns the created kinds."""
    made = []
    for resource, wanted in starter_objects(offers):
        try:
            await client.of(resource).create({"apiVersion": resource.api_version, "kind": resource.kind, **wanted})
        except StatusError as error:
            if not error.is_already_exists:
                raise
        else:
            made.append(resource.kind)
    return made
