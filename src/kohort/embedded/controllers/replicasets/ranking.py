"""Deletion order of surplus pods of a ReplicaSet, as in Kubernetes."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from kohort.api.selectors import int64
from kohort.embedded.controllers.views import ControllerPod

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1e9

_Rank = tuple[bool, int, bool, int, int, int, int, int, str]


def deletion_order(
    pods: Sequence[ControllerPod], related: Iterable[ControllerPod], count: int, now: datetime
) -> list[ControllerPod]:
    """The first `count` pods to delete; `related` are those of all ReplicaSets of the same owner."""
    pods_by_node = Counter(pod.spec.node_name for pod in related if pod.is_active)
    moment = now.timestamp()
    return sorted(pods, key=lambda pod: _rank(pod, pods_by_node[pod.spec.node_name], moment))[:count]


def _rank(pod: ControllerPod, related_on_node: int, now: float) -> _Rank:
    """Sort key: unassigned, not running, not ready, low deletion cost, many related pods on the node, young on a
    logarithmic scale, many restarts; then UID."""
    created = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.is_ready,
        _cost(pod),
        -related_on_node,
        _magnitude(pod.ready_since(), now),
        -max((each.restart_count for each in pod.status.container_statuses), default=0),
        _magnitude(created.timestamp() if created else None, now),
        pod.metadata.uid,
    )


def _cost(pod: ControllerPod) -> int:
    return int64(pod.metadata.annotations.get(DELETION_COST, "")) or 0


def _magnitude(since: float | None, now: float) -> int:
    """The age on a logarithmic scale, so that the order among pods of similar age is not predictable."""
    age = 0.0 if since is None else (now - since) * _NANOSECONDS
    return int(math.log2(age)) if age > 0 else -1
