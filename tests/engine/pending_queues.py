"""Pending queues in one line, and what a scheduler does with them."""

from collections.abc import Callable, Iterable
from datetime import datetime

import pytest

from engine.pending_model import at, cluster_queue, workload
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingQueue
from kohort.engine.records import WorkloadInfo

NOW = at(100)


def best_effort(*workloads: WorkloadInfo) -> PendingQueue:
    return filled(PendingQueue(cluster_queue()), workloads)


def strict(*workloads: WorkloadInfo) -> PendingQueue:
    return filled(PendingQueue(cluster_queue(strict=True)), workloads)


BOTH = pytest.mark.parametrize("queue_of", [best_effort, strict])
QueueOf = Callable[..., PendingQueue]


def filled(queue: PendingQueue, workloads: Iterable[WorkloadInfo]) -> PendingQueue:
    for each in workloads:
        queue.push(each, NOW)
    return queue


def popped(queue: PendingQueue, now: datetime = NOW) -> WorkloadInfo:
    head = queue.pop(now)
    assert head is not None
    return head


def admit(queue: PendingQueue) -> str:
    head = popped(queue)
    queue.assume(head)
    queue.remove(head)
    return head.key.name


def fail(queue: PendingQueue, reason: RequeueReason, status_reason: str = "WaitingForQuota") -> str:
    head = popped(queue)
    queue.requeue(head, reason, NOW, status_reason)
    return head.key.name


def retry(queue: PendingQueue, now: datetime = NOW) -> int:
    return queue.retry(now, lambda namespace: namespace == "team")


def drained(queue: PendingQueue) -> list[str]:
    return [admit(queue) for _ in range(queue.counts.active)]


def same(
    number: int, local_queue: str = "lq", namespace: str = "team", backoff_until: datetime | None = None
) -> WorkloadInfo:
    made = workload(f"A{number}", queued=number, kind="same", local_queue=local_queue, namespace=namespace)
    made.backoff_until = backoff_until
    return made
