"""Hollow nodes: nodes without machines, whose pods run in name only.

Each registers itself, renews its lease as a kubelet would, and moves the status of the pods bound to it. A pod runs
until it is deleted, unless its annotation names another end.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp

from cluster.access import Access

Json = Any

OUTCOME = "hollow.kohort.dev/outcome"
"""Annotation of a pod: the phase in which it ends, `Succeeded` or `Failed`."""

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_LEASE_SECONDS = 40
_RENEW_SECONDS = 10
_WATCH_SECONDS = 300
_MERGE_PATCH = {"Content-Type": "application/strategic-merge-patch+json"}
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class HollowNode:
    """What a node says about itself."""

    name: str
    capacity: Mapping[str, str] = field(default_factory=lambda: {"cpu": "8", "memory": "32Gi", "pods": "110"})
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()

    def manifest(self) -> Json:
        """The Node as its kubelet would register it."""
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux", **self.labels}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": labels},
            "spec": {"taints": list(self.taints)},
            "status": {
                "capacity": dict(self.capacity),
                "allocatable": dict(self.capacity),
                "conditions": [_ready("KubeletReady")],
            },
        }


@asynccontextmanager
async def hollow_nodes(access: Access, nodes: Sequence[HollowNode]) -> AsyncIterator[None]:
    """Nodes that are there, and run pods, for as long as the context lasts."""
    connector = aiohttp.TCPConnector(ssl=access.tls())
    async with aiohttp.ClientSession(f"https://{access.address}", connector=connector) as session:
        fleet = _Fleet(session, nodes)
        try:
            await fleet.register()
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(fleet.keep_alive()), tasks.create_task(fleet.run_pods())]
                yield
                for task in running:
                    task.cancel()
        finally:
            await fleet.leave()


class _Fleet:
    def __init__(self, session: aiohttp.ClientSession, nodes: Sequence[HollowNode]) -> None:
        self._session = session
        self._nodes = {node.name: node for node in nodes}

    async def register(self) -> None:
        for node in self._nodes.values():
            await self._call("POST", "/api/v1/nodes", node.manifest())
            await self._call("POST", _LEASES, _lease(node.name))

    async def leave(self) -> None:
        for name in self._nodes:
            await self._call("DELETE", f"/api/v1/nodes/{name}")

    async def keep_alive(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            for name in self._nodes:
                await self._patch(f"{_LEASES}/{name}", _lease(name))

    async def run_pods(self) -> None:
        """List, watch from there, and list again whenever the watch ends."""
        while True:
            listed = await self._call("GET", "/api/v1/pods?fieldSelector=spec.nodeName!%3D")
            for pod in listed["items"]:
                await self._drive(pod)
            async for pod in self._changed(listed["metadata"]["resourceVersion"]):
                await self._drive(pod)

    async def _changed(self, since: str) -> AsyncIterator[Json]:
        query = f"watch=true&timeoutSeconds={_WATCH_SECONDS}&resourceVersion={since}&fieldSelector=spec.nodeName!%3D"
        timeout = aiohttp.ClientTimeout(total=_WATCH_SECONDS + 30)
        async with self._session.get(f"/api/v1/pods?{query}", timeout=timeout) as response:
            response.raise_for_status()
            while line := await response.content.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] != "DELETED":
                    yield event["object"]

    async def _drive(self, pod: Json) -> None:
        """Bring a pod one step further; the step's own event brings the next."""
        if pod["spec"].get("nodeName") not in self._nodes:
            return
        metadata, phase = pod["metadata"], pod["status"].get("phase")
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        outcome = metadata.get("annotations", {}).get(OUTCOME)
        if "deletionTimestamp" in metadata:
            await self._call("DELETE", f"{path}?gracePeriodSeconds=0")
        elif phase == "Pending":
            await self._patch(f"{path}/status", {"status": _running(pod)})
        elif phase == "Running" and outcome in _ENDED:
            await self._patch(f"{path}/status", {"status": _ended(pod, outcome)})

    async def _patch(self, path: str, body: Json) -> None:
        await self._call("PATCH", path, body)

    async def _call(self, method: str, path: str, body: Json = None) -> Json:
        headers = _MERGE_PATCH if method == "PATCH" else {}
        async with self._session.request(method, path, json=body, headers=headers) as response:
            if response.status in (404, 409):
                # Somebody else was quicker: a pod is gone, a lease of an earlier node of this name is still there.
                return None
            response.raise_for_status()
            return await response.json()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _lease(node: str) -> Json:
    renewed = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": renewed},
    }


def _ready(reason: str, status: str = "True") -> Json:
    now = _now()
    return {"type": "Ready", "status": status, "reason": reason, "lastHeartbeatTime": now, "lastTransitionTime": now}


def _conditions(reason: str, status: str) -> list[Json]:
    types = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    same = {"status": status, "reason": reason, "lastTransitionTime": _now()}
    return [{"type": name, **(same | {"status": "True"} if name == "Initialized" else same)} for name in types]


def _running(pod: Json) -> Json:
    started = {"running": {"startedAt": _now()}}
    return {
        "phase": "Running",
        "startTime": _now(),
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "podIPs": [{"ip": "127.0.0.1"}],
        "conditions": _conditions("Hollow", "True"),
        "containerStatuses": [_container(each, started, ready=True) for each in pod["spec"]["containers"]],
    }


def _ended(pod: Json, outcome: str) -> Json:
    code = 0 if outcome == "Succeeded" else 1
    ended = {"running": None, "terminated": {"exitCode": code, "reason": outcome, "finishedAt": _now()}}
    return {
        "phase": outcome,
        "conditions": _conditions("PodCompleted", "False"),
        "containerStatuses": [_container(each, ended, ready=False) for each in pod["spec"]["containers"]],
    }


def _container(container: Json, state: Json, *, ready: bool) -> Json:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }
