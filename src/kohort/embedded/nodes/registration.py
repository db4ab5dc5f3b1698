"""Registers nodes at start-up, maintains them and marks or deletes them at shutdown."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from kohort.api.amounts import to_amount
from kohort.api.core.nodes import Node
from kohort.embedded.nodes.addresses import PodCidrAllocator, PodIpAllocator, read_block
from kohort.embedded.nodes.agent_nodes import AgentNode, AgentNodeResource
from kohort.embedded.nodes.declared import PODS, DeclaredNode
from kohort.embedded.nodes.leases import LeasePace, Leases
from kohort.embedded.nodes.manifests import AgentDefaults, block_of, healthy, known_node, leaving, new_node
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.controller import Controller
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.informer import Informer
from kohort.kube.options import EVERYTHING, ListScope
from kohort.kube.patches import StrategicPatch
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

T = TypeVar("T")

NAME = "node-registration"
_MAX_CONCURRENT = 16
_SHUTDOWN_TIMEOUT = 60.0
"""Seconds for the last writes to all nodes."""


class NodeShutdownPolicy(Enum):
    """What happens to the nodes when their agent stops."""

    REMOVE = "the nodes are deleted, and controllers remove their pods"
    KEEP = "the nodes stay and are not ready, until an agent takes them over"


@dataclass(frozen=True, slots=True)
class NodeRegistration:
    """The nodes to register and how to maintain them."""

    nodes: tuple[DeclaredNode, ...]
    pace: LeasePace = field(default_factory=LeasePace)
    leaving: NodeShutdownPolicy = NodeShutdownPolicy.REMOVE


def only(names: Sequence[str], field_name: str) -> ListScope:
    """The list scope for these nodes: a field selector can name at most one."""
    return ListScope(fields=f"{field_name}={names[0]}") if len(names) == 1 else EVERYTHING


class Registrar:
    """Maintains the nodes of one agent in the API."""

    def __init__(self, client: Client, registration: NodeRegistration, addresses: PodIpAllocator) -> None:
        self._client = client
        self._clock = client.clock
        self._registration = registration
        self._addresses = addresses
        self._pod_cidrs: dict[str, str] = {}
        """Pod CIDRs to assign, by node."""
        self._declared: Mapping[str, DeclaredNode] = {node.name: node for node in registration.nodes}
        names = tuple(self._declared)
        self._nodes = client.of(Node.resource)
        self._informer = Informer(client.of(AgentNodeResource(ours=self._declared)), only(names, "metadata.name"))
        self._leases = Leases(client, names, self._informer.cache, registration.pace)
        self._queue = WorkQueue[str](self._clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, self._clock, client.metrics)
        self._tasks: list[asyncio.Task[None]] = []
        self.site = AgentDefaults()

    def get(self, name: str) -> AgentNode | None:
        """A node of the agent as it is in the API."""
        return self._informer.cache.get(("", name)) if name in self._declared else None

    async def start(self, site: AgentDefaults) -> None:
        """Registers all nodes; returns when each exists."""
        self.site = site
        self._tasks = [asyncio.create_task(self._informer.run())]
        await self._informer.wait_for_sync()
        if self._addresses.needs_blocks:
            await self._pick_blocks()
        await _all(self._register, self._declared.values())
        self._informer.subscribe(self._on_change)
        self._controller.start()
        self._tasks.append(asyncio.create_task(self._leases.run()))

    async def _pick_blocks(self) -> None:
        """Picks a pod CIDR for each node without one."""
        known = await self._known_blocks()
        blocks = PodCidrAllocator((known or {}).values())
        for name, node in self._declared.items():
            block = (known or {}).get(name, "")
            if read_block(block) is not None:
                self._addresses.settle(name, block)
                continue
            picked = blocks.pick(name, to_amount("pods", node.capacity.get("pods", PODS)))
            self._addresses.settle(name, picked)
            if known is not None and not block:
                self._pod_cidrs[name] = picked

    async def _known_blocks(self) -> dict[str, str] | None:
        """The pod CIDRs of all nodes by name; None if the agent may not list nodes."""
        try:
            listed = await self._nodes.list()
        except StatusError as error:
            if error.code != 403:
                raise
            log.info("cannot list nodes, deriving pod addresses from node names: %s", error)
            return None
        return {each["metadata"]["name"]: str((each.get("spec") or {}).get("podCIDR") or "") for each in listed.items}

    async def stop(self) -> None:
        """Stops renewing leases and applies the shutdown policy."""
        await self._controller.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await within(self._clock, _SHUTDOWN_TIMEOUT, self._apply_shutdown_policy())
        except (KubeError, TimeoutError) as error:
            log.warning(
                "updating nodes at shutdown failed: %s", str(error) or f"timed out after {_SHUTDOWN_TIMEOUT:g} s"
            )

    async def _apply_shutdown_policy(self) -> None:
        await _all(
            self._remove if self._registration.leaving is NodeShutdownPolicy.REMOVE else self._mark_stopped,
            self._declared,
        )

    async def _register(self, node: DeclaredNode) -> None:
        seen = self.get(node.name)
        if seen is None:
            seen = await self._create(node)
        else:
            await self._update(node, seen)
        await self._leases.create(seen)

    async def _create(self, node: DeclaredNode) -> AgentNode:
        body = new_node(node, self.site, self._clock.wall(), self._pod_cidrs.get(node.name, ""))
        made = await self._nodes.create(body)
        return AgentNode(self._nodes.kind.identity(made).key, made["metadata"]["uid"], "")

    async def _update(self, node: DeclaredNode, seen: AgentNode) -> None:
        rest, status = known_node(node, self.site, seen, self._clock.wall())
        rest |= block_of(self._pod_cidrs.get(node.name, ""))
        if rest:
            await self._nodes.patch(seen.key, StrategicPatch(rest))
        await self._nodes.patch(seen.key, StrategicPatch(status), subresource="status")

    def _on_change(self, _: AgentNode | None, new: AgentNode | None) -> None:
        if new is not None and new.key.name in self._declared and new.ready != "True":
            self._queue.add(new.key.name)

    async def reconcile(self, name: str) -> None:
        """Restores a node that was marked not ready, for instance while the machine was suspended."""
        seen = self.get(name)
        if seen is None or seen.ready == "True":
            return
        log.info("node %s became ready", name)
        patch = StrategicPatch({"status": healthy(seen, self._clock.wall())})
        await self._nodes.patch(seen.key, patch, subresource="status")

    async def _remove(self, name: str) -> None:
        try:
            await self._nodes.delete(("", name))
        except StatusError as error:
            if not error.is_not_found:
                raise

    async def _mark_stopped(self, name: str) -> None:
        patch = StrategicPatch({"status": leaving(self._clock.wall())})
        try:
            await self._nodes.patch(("", name), patch, subresource="status")
        except StatusError as error:
            if not error.is_not_found:
                raise


async def _all(action: Callable[[T], Awaitable[None]], items: Iterable[T]) -> None:
    """Runs the action for all items with bounded concurrency; the first failure aborts."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await action(item)

    tasks = [asyncio.create_task(worker()) for _ in range(_MAX_CONCURRENT)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
