"""What a manager needs on a fresh API server: accounts and its own objects, then the queues and nodes of a scenario."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import yaml

from benchmarks.scenarios import NAMESPACE, BenchmarkScenario
from benchmarks.servers import Server
from cluster.access import write_secret
from kohort.api.codec import Json, encode, to_json
from kohort.api.conditions import is_true
from kohort.api.core.namespaces import Namespace
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import ClusterQueue, Cohort
from kohort.api.meta import ObjectKey
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.patches import MergePatch
from kohort.kube.transport import Request
from kohort.webhooks.configurations import CONFIGURATIONS

START_SECONDS = 120.0
NODES_AT_ONCE = 8
JSON = {"Content-Type": "application/json"}
PROBE = {"apiVersion": Cohort.info.resource.api_version, "kind": "Cohort", "metadata": {"name": "probe"}}
PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "Secret": "/api/v1/namespaces/kueue-system/secrets",
    "ServiceAccount": "/api/v1/namespaces/kueue-system/serviceaccounts",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    **{each.kind: f"/apis/{each.api_version}/{each.plural}" for each in CONFIGURATIONS.values()},
}
MANAGER, GENERATOR = "manager", "generator"
"""Service accounts: API servers divide their time fairly between accounts, so each side has one."""
SURROUNDINGS = (
    *({"kind": "Namespace", "metadata": {"name": name}} for name in ("kueue-system", NAMESPACE)),
    *({"kind": "ServiceAccount", "metadata": {"name": name}} for name in (MANAGER, GENERATOR)),
    {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "bench"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [
            {"kind": "ServiceAccount", "name": name, "namespace": "kueue-system"} for name in (MANAGER, GENERATOR)
        ],
    },
)


async def furnish(client: Client, objects: list[Json]) -> None:
    """Namespaces, an account with all permissions, and the manager's own objects."""
    for thing in [*SURROUNDINGS, *objects]:
        await client.call(Request("POST", PATHS[thing["kind"]], (), JSON, encode(thing)))
    async with asyncio.timeout(START_SECONDS):
        while not await _is_served(client):
            await asyncio.sleep(0.2)


async def entered(client: Client, server: Server, account: str) -> Server:
    """The server, as it is reached with the token of a service account: the way of pods.

    A server verifies the certificate of a client anew with each request, which managers in clusters do not cost it.
    """
    answer = await client.call(Request("POST", f"{PATHS['ServiceAccount']}/{account}/token", (), JSON, b'{"spec": {}}'))
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"] = [{**each, "user": {"token": json.loads(answer)["status"]["token"]}} for each in config["users"]]
    file = write_secret(server.kubeconfig.with_name(f"{account}.kubeconfig"), json.dumps(config).encode())
    return replace(server, kubeconfig=file)


async def _is_served(client: Client) -> bool:
    try:
        await client.of(ClusterQueue).list()
    except StatusError:
        return False
    return True


async def open_queues(client: Client, scenario: BenchmarkScenario) -> None:
    """Create the scenario's nodes and queues as soon as the webhooks respond; wait until they are reconciled."""
    async with asyncio.timeout(START_SECONDS):
        await _wait_for_webhooks(client)
        await create_objects(client, scenario)
        while not await _are_open(client):
            await asyncio.sleep(0.2)


async def create_objects(client: Client, scenario: BenchmarkScenario) -> None:
    """Create everything but the namespace, which exists."""
    objects = list(scenario.objects())
    await _create_nodes(client, [each for each in objects if isinstance(each, Node)])
    for thing in objects:
        if not isinstance(thing, Node | Namespace):
            await client.of(type(thing)).create(thing)


async def _create_nodes(client: Client, nodes: Sequence[Node]) -> None:
    free = asyncio.Semaphore(NODES_AT_ONCE)

    async def create(node: Node) -> None:
        async with free:
            await _create_ready(client, node)

    await asyncio.gather(*map(create, nodes))


async def _create_ready(client: Client, node: Node) -> None:
    """Report the status as a kubelet does, and remove the taint that the API server gives to each new node."""
    nodes, key = client.of(Node), ObjectKey("", node.metadata.name)
    await nodes.create(node)
    await nodes.patch(key, MergePatch({"status": to_json(node.status)}), subresource="status")
    await nodes.patch(key, MergePatch({"spec": {"taints": None}}))


async def _wait_for_webhooks(client: Client) -> None:
    """Until both kinds of configuration are there and a write that passes them is answered."""
    while not await _are_registered(client) or not await _would_pass(client):
        await asyncio.sleep(0.2)


async def _are_registered(client: Client) -> bool:
    listed = [await client.call(Request("GET", PATHS[each.kind])) for each in CONFIGURATIONS.values()]
    return all(json.loads(each)["items"] for each in listed)


async def _would_pass(client: Client) -> bool:
    path = f"/apis/{Cohort.info.resource.api_version}/{Cohort.info.resource.plural}"
    try:
        await client.call(Request("POST", path, (("dryRun", "All"),), JSON, encode(PROBE)))
    except StatusError:
        return False
    return True


async def _are_open(client: Client) -> bool:
    listed = await client.of(ClusterQueue).list()
    return all(is_true(each.status.conditions, "Active") for each in listed.items)
