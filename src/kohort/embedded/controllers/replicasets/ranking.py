"""Which pods of a ReplicaSet go first when there are too many, as Kubernetes orders them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from kohort.api.selectors import int64
from kohort.embedded.controllers.views import ControllerPod

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1e9

Rank = tuple[bool, int, bool, int, int, int, int, int, str]


def first_to_go(
    pods: Sequence[ControllerPod], related: Iterable[ControllerPod], count: int, now: datetime
) -> list[ControllerPod]:
    """So many pods, those first that serve least; `related` are those of all ReplicaSets of the same owner."""
    crowds = Counter(pod.spec.node_name for pod in related if pod.is_active)
    moment = now.timestamp()
    return sorted(pods, key=lambda pod: _rank(pod, crowds[pod.spec.node_name], moment))[:count]


def _rank(pod: ControllerPod, crowd: int, now: float) -> Rank:
    """Without a node, not running, not ready, cheap, crowded, young in powers of two, often restarted; then by uid."""
    created = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.is_ready,
        _cost(pod),
        -crowd,
        _magnitude(pod.ready_since(), now),
        -max((each.restart_count for each in pod.status.container_statuses), default=0),
        _magnitude(created.timestamp() if created else None, now),
        pod.metadata.uid,
    )


def _cost(pod: ControllerPod) -> int:
    return int64(pod.metadata.annotations.get(DELETION_COST, "")) or 0


def _magnitude(since: float | None, now: float) -> int:
    """The age in powers of two, so that pods of about the same age go in no order that a user could count on."""
    age = 0.0 if since is None else (now - since) * _NANOSECONDS
    return int(math.log2(age)) if age > 0 else -1
