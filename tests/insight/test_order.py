"""Places in the queue come from the manager that keeps it, by as few questions as rights allow."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from kit.responses import CannedResponse
from kohort.api.meta import ObjectKey
from kohort.insight.list_views import VisibilityPosition
from kohort.insight.order import VISIBILITY, positions_in
from kohort.kube.client import Client
from kohort.kube.errors import ErrorSubject, StatusError, forbidden, not_found
from kohort.kube.retries import RetryPolicy
from kohort.kube.transport import Request

HERE, THERE = ObjectKey("ml", "team-a"), ObjectKey("web", "team-b")


@dataclass
class Manager:
    """The visibility API of a manager, with canned responses."""

    answers: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    async def send(self, request: Request, timeout: float) -> CannedResponse:
        self.asked.append(request.path)
        found = self.answers.get(request.path, StatusError(404, "NotFound", "page not found"))
        if isinstance(found, StatusError):
            return CannedResponse(found.code, json.dumps(found.to_status()).encode())
        return CannedResponse(200, json.dumps({"kind": "PendingWorkloadsSummary", "items": found}).encode())

    async def close(self) -> None:
        pass

    @property
    def client(self) -> Client:
        return Client(self, retries=RetryPolicy(attempts=1))


def item(name: str, in_cluster_queue: int, in_local_queue: int) -> dict[str, Any]:
    places = {"positionInClusterQueue": in_cluster_queue, "positionInLocalQueue": in_local_queue}
    return {"metadata": {"name": name, "namespace": "ml"}, "priority": 0, "localQueueName": "team-a", **places}


LOCAL = f"{VISIBILITY}/namespaces/ml/localqueues/team-a/pendingworkloads"


async def test_in_one_namespace_its_local_queues_are_requested() -> None:
    manager = Manager({LOCAL: [item("a", 3, 0), item("b", 5, 1)]})
    assert await positions_in(manager.client, {HERE: "gpus"}) == {
        ("ml", "a"): VisibilityPosition(3, 0),
        ("ml", "b"): VisibilityPosition(5, 1),
    }
    assert manager.asked == [LOCAL]


async def test_over_several_namespaces_each_cluster_queue_is_requested_once() -> None:
    path = f"{VISIBILITY}/clusterqueues/gpus/pendingworkloads"
    manager = Manager({path: [item("a", 0, 0)]})
    assert await positions_in(manager.client, {HERE: "gpus", THERE: "gpus"}) == {("ml", "a"): VisibilityPosition(0, 0)}
    assert manager.asked == [path]


async def test_a_queue_unknown_to_the_manager_has_no_order() -> None:
    unknown = not_found(ErrorSubject("localqueue", "visibility.kueue.x-k8s.io", "team-a"))
    assert await positions_in(Manager({LOCAL: unknown}).client, {HERE: "gpus"}) == {}


@pytest.mark.parametrize(
    "refusal",
    [
        StatusError(404, "NotFound", "404 page not found"),
        StatusError(503, "ServiceUnavailable", "service unavailable"),
        forbidden(ErrorSubject("localqueues/pendingworkloads"), "User cannot get"),
    ],
    ids=["not served", "not there now", "not for you"],
)
async def test_without_the_visibility_api_there_is_no_order(refusal: StatusError) -> None:
    assert await positions_in(Manager({LOCAL: refusal}).client, {HERE: "gpus"}) is None


async def test_what_is_no_refusal_is_an_error() -> None:
    broken = StatusError(500, "InternalError", "the disk is full")
    with pytest.raises(StatusError, match="the disk is full"):
        await positions_in(Manager({LOCAL: broken}).client, {HERE: "gpus"})
