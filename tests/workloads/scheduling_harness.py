"""The two schedulers: kube-scheduler on kube-apiserver, and ours on the embedded server; no pod is run."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cluster.control_plane import ControlPlane
from embedded.scheduler.harness import Object, pod
from kohort.api.core.nodes import Node
from kohort.api.core.pods import Pod
from kohort.api.resource import Resource
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.scheduler.scheduler import running_pod_scheduler
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import StatusError
from kohort.kube.http import HttpTransport
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import MergePatch
from kohort.kube.transport import Request
from workloads.scheduling_cases import Await, AwaitText, Case, Create, Delete, Patch, Step

PATIENCE = 60.0
CALM = 0.5
"""Seconds without anything new after which a scheduler is taken to be done."""
SPACE = "default"
ADMIN = User("admin", (MASTERS, AUTHENTICATED))
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
EVENTS = Resource("events.k8s.io", "v1", "Event", "events", namespaced=True)
CLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False)
NOW = DeletionOptions(grace_seconds=0)
REASONS = ("FailedScheduling", "Preempted", "Scheduled")


@asynccontextmanager
async def running_kube_scheduler() -> AsyncIterator[Client]:
    """kube-scheduler, and the controller of service accounts: no node controllers."""
    cluster = ControlPlane("serviceaccount-controller")
    await asyncio.to_thread(cluster.__enter__)
    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=cluster.kubeconfig))))
    try:
        yield client
    finally:
        await client.close()
        await asyncio.to_thread(cluster.__exit__, None, None, None)


@asynccontextmanager
async def running_kohort_scheduler() -> AsyncIterator[Client]:
    """Our scheduler, in this process."""
    store = await Store.open(None)
    core = ServerCore(ServerCoreParts(store, SystemClock(), Signer(new_key()), b"authority"))
    await core.start()
    client = Client(core.transport(ADMIN))
    try:
        async with running_pod_scheduler(client):
            yield client
    finally:
        await core.close()
        await store.close()


@dataclass
class SchedulerState:
    """The final state of a case."""

    pods: dict[str, Object] = field(default_factory=dict)
    events: set[tuple[str, str, str]] = field(default_factory=set)
    failure: str = ""

    @property
    def has_all_events(self) -> bool:
        """Whether every scheduled or unschedulable pod has its event."""
        reported = {(name, reason) for name, reason, _ in self.events}
        placed = {
            (name, "Scheduled") for name, pod in self.pods.items() if pod["conditions"][0].get("status") == "True"
        }
        refused = {
            (name, "FailedScheduling")
            for name, pod in self.pods.items()
            if pod["conditions"][0].get("reason") == "Unschedulable"
        }
        return placed | refused <= reported


class SchedulerCaseRunner:
    """Runs cases on one scheduler, one after the other."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pods = client.of(Pod.resource)
        self._nodes = client.of(Node.resource)

    async def create_priority_classes(self) -> None:
        """Create the priority classes of all cases."""
        for name, value, policy in (
            ("high", 100, "PreemptLowerPriority"),
            ("middle", 50, "PreemptLowerPriority"),
            ("peaceful", 100, "Never"),
        ):
            await self._client.of(CLASSES).create(
                {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            )

    async def run(self, case: Case) -> SchedulerState:
        """Run a case and delete its objects."""
        seen = SchedulerState()
        try:
            async with asyncio.timeout(3 * PATIENCE):
                for each in case.nodes:
                    await self._add_node(each)
                await self._until_nodes_are_known(len(case.nodes))
                for step in case.steps:
                    await self._do(step)
                await self._until_events()
                await self._look(seen)
        except (TimeoutError, StatusError) as error:
            seen.failure = f"{type(error).__name__}: {error}"
        await self._clear()
        return seen

    async def _add_node(self, found: Object) -> None:
        """A real API server taints new nodes until a controller, which is not here, has checked them."""
        await self._nodes.create(found)
        taints = found["spec"].get("taints") or None
        await self._nodes.patch(("", found["metadata"]["name"]), MergePatch({"spec": {"taints": taints}}))

    async def _until_nodes_are_known(self, count: int) -> None:
        """Probe with pods that fit on no node: the message has the number of nodes and any taint of new ones."""
        known = f"0/{count} nodes are available"
        while count:
            await self._pods.create(pod("fits-nowhere", nodeSelector={"no": "node"}))
            await self._until("fits-nowhere", lambda found: bool(_condition(found)))
            message = _condition(await self._pods.get((SPACE, "fits-nowhere"))).get("message", "")
            await self._pods.delete((SPACE, "fits-nowhere"), NOW)
            if known in message and "node.kubernetes.io/not-ready" not in message:
                return
            await asyncio.sleep(0.05)

    async def _until_events(self) -> None:
        """Wait until there are events of what became of all pods, and nothing new comes any more."""
        async with asyncio.timeout(PATIENCE):
            before, now = SchedulerState(), SchedulerState()
            await self._look(now)
            while now != before or not now.has_all_events:
                await asyncio.sleep(CALM)
                before, now = now, SchedulerState()
                await self._look(now)

    async def _do(self, step: Step) -> None:
        match step:
            case Create(found) if found["kind"] == "Pod":
                await self._pods.create(found)
                await self._until(found["metadata"]["name"], _is_looked_at)
            case Create(found):
                await self._client.of(CLAIMS).create({**found, "metadata": {**found["metadata"], "namespace": SPACE}})
            case Delete(name):
                await self._pods.delete((SPACE, name), NOW)
            case Patch(path, patch):
                place = path if path.startswith("/") else f"/api/v1/namespaces/{SPACE}/{path}"
                how = MergePatch(patch)
                await self._client.call(Request("PATCH", place, (), {"Content-Type": how.media_type}, how.body()))
            case Await(names):
                for name in names:
                    await self._until(name, lambda pod: bool(pod["spec"].get("nodeName")))
            case AwaitText(name, text):
                await self._until(name, lambda pod: text in _condition(pod).get("message", ""))

    async def _until(self, name: str, holds: Callable[[Any], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds(await self._pods.get((SPACE, name))):
                await asyncio.sleep(0.05)

    async def _look(self, seen: SchedulerState) -> None:
        pods = (await self._pods.list(ListScope(SPACE))).items
        for each in pods:
            seen.pods[each["metadata"]["name"]] = _state(each)
        uids = {each["metadata"]["uid"]: each["metadata"]["name"] for each in pods}
        for event in (await self._client.of(EVENTS).list(ListScope(SPACE))).items:
            name = uids.get(event["regarding"].get("uid", ""), "")
            if name and event["reason"] in REASONS:
                note = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", event.get("note", ""))
                seen.events.add((name, event["reason"], note))

    async def _clear(self) -> None:
        """Delete all objects of the case; no pod runs, so pods need no grace period."""
        await self._pods.delete_collection(ListScope(SPACE), NOW)
        await self._client.of(CLAIMS).delete_collection(ListScope(SPACE), NOW)
        await self._nodes.delete_collection(ListScope())
        async with asyncio.timeout(PATIENCE):
            while (await self._pods.list(ListScope(SPACE))).items or (await self._nodes.list()).items:
                await self._pods.delete_collection(ListScope(SPACE), NOW)
                await asyncio.sleep(0.05)
        for claim in (await self._client.of(CLAIMS).list(ListScope(SPACE))).items:
            key = (SPACE, claim["metadata"]["name"])
            await self._client.of(CLAIMS).patch(key, MergePatch({"metadata": {"finalizers": None}}))


def _condition(pod: Object, kind: str = "PodScheduled") -> Object:
    found: list[Object] = pod["status"].get("conditions", [])
    return next((each for each in found if each["type"] == kind), {})


def _is_looked_at(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) or bool(_condition(pod))


def _state(pod: Object) -> Object:
    conditions = [_condition(pod, kind) for kind in ("PodScheduled", "DisruptionTarget")]
    node = pod["spec"].get("nodeName", "")
    return {
        "node": node,
        # Whether a nomination is cleared when the pod is bound depends on the API server.
        "nominated": "" if node else pod["status"].get("nominatedNodeName", ""),
        "leaving": "deletionTimestamp" in pod["metadata"],
        "conditions": [
            {key: each[key] for key in ("type", "status", "reason", "message") if key in each} for each in conditions
        ],
    }


async def run_cases(
    plane: Callable[[], AbstractAsyncContextManager[Client]], cases: Sequence[Case]
) -> dict[str, SchedulerState]:
    """Run all cases on one scheduler."""
    async with plane() as client:
        harness = SchedulerCaseRunner(client)
        await harness.create_priority_classes()
        return {case.name: await harness.run(case) for case in cases}


async def run_cases_on_both(cases: Sequence[Case]) -> tuple[dict[str, SchedulerState], dict[str, SchedulerState]]:
    """Run all cases on both schedulers concurrently."""
    theirs, mine = await asyncio.gather(
        run_cases(running_kube_scheduler, cases), run_cases(running_kohort_scheduler, cases)
    )
    return theirs, mine
