"""Sizes of a Deployment's ReplicaSets; pure.

One step at a time: the new one grows as far as maxSurge allows, then old ones shrink as far as availability allows.
Resizing a Deployment during a rollout is distributed proportionally.
"""

from collections.abc import Sequence

from kohort.api.selectors import int64
from kohort.embedded.controllers.deployments.revisions import DESIRED, MOST, Sets, age
from kohort.embedded.controllers.serving import DeploymentView, ReplicaSetView
from kohort.embedded.controllers.shares import rounded_down, rounded_up

Sizes = dict[str, int]
"""Desired size of ReplicaSets by UID; unchanged ones may be missing."""


def is_rolling(found: DeploymentView) -> bool:
    """Whether the strategy is RollingUpdate."""
    return found.spec.strategy.type != "Recreate"


def surge(found: DeploymentView) -> int:
    """Number of pods allowed above the desired number."""
    return _bounds(found)[0] if is_rolling(found) else 0


def max_unavailable(found: DeploymentView) -> int:
    """Number of desired pods that may be unavailable."""
    if not is_rolling(found) or found.spec.replicas == 0:
        return 0
    return min(_bounds(found)[1], found.spec.replicas)


def _bounds(found: DeploymentView) -> tuple[int, int]:
    """maxSurge and maxUnavailable; if both are zero, one pod may be unavailable so that the rollout can progress."""
    rolling = found.spec.strategy.rolling_update
    more = rounded_up((rolling.max_surge if rolling else None) or 0, found.spec.replicas)
    fewer = rounded_down((rolling.max_unavailable if rolling else None) or 0, found.spec.replicas)
    return (more, fewer) if more or fewer else (0, 1)


def size_annotations(found: DeploymentView) -> dict[str, str]:
    """Annotations that record the Deployment's size, to distinguish resizing from a rollout."""
    return {DESIRED: str(found.spec.replicas), MOST: str(found.spec.replicas + surge(found))}


def is_resized(found: DeploymentView, sets: Sets) -> bool:
    """Whether the Deployment was resized since its ReplicaSets were last scaled."""
    recorded = (int64(each.metadata.annotations.get(DESIRED, "")) for each in sets.active)
    return any(size is not None and size != found.spec.replicas for size in recorded)


# Rollout


def first_size(found: DeploymentView, sets: Sets) -> int:
    """Initial size of the ReplicaSet of a new template."""
    return _grown(found, sets, 0) if is_rolling(found) else found.spec.replicas


def _grown(found: DeploymentView, sets: Sets, size: int) -> int:
    allowance = found.spec.replicas + surge(found) - sum(each.spec.replicas for each in sets.all)
    return size + max(0, min(allowance, found.spec.replicas - size))


def rolling_step(found: DeploymentView, sets: Sets) -> Sizes:
    """The next step of a rolling update; empty if it has to wait or is complete."""
    new = sets.new
    if new is None:
        return {}
    if new.spec.replicas > found.spec.replicas:
        return {new.metadata.uid: found.spec.replicas}
    size = _grown(found, sets, new.spec.replicas)
    if size != new.spec.replicas:
        return {new.metadata.uid: size}
    return _shrunk(found, sets, new)


def _shrunk(found: DeploymentView, sets: Sets, new: ReplicaSetView) -> Sizes:
    """Scales old ReplicaSets down: unhealthy pods first, then as many as availability allows."""
    least = found.spec.replicas - max_unavailable(found)
    missing = new.spec.replicas - new.status.available_replicas
    allowance = sum(each.spec.replicas for each in sets.all) - least - missing
    if allowance <= 0:
        return {}
    sizes = {each.metadata.uid: each.spec.replicas for each in sets.old}
    for each in sets.old:
        unhealthy = min(allowance, max(0, each.spec.replicas - each.status.available_replicas))
        sizes[each.metadata.uid] -= unhealthy
        allowance -= unhealthy
    excess = sum(each.status.available_replicas for each in sets.all) - least
    for each in sets.old:
        going = max(0, min(sizes[each.metadata.uid], excess))
        sizes[each.metadata.uid] -= going
        excess -= going
    return sizes


def recreate_step(found: DeploymentView, sets: Sets) -> Sizes:
    """Scales all old ReplicaSets to zero; the caller decides when new pods may start."""
    return {each.metadata.uid: 0 for each in sets.old if each.spec.replicas > 0}


# Resizing


def resized(found: DeploymentView, sets: Sets) -> Sizes:
    """Distributes a new size of the Deployment over its ReplicaSets."""
    only = _only_one(sets)
    if only is not None:
        return {only.metadata.uid: found.spec.replicas}
    if sets.new is not None and _is_saturated(found, sets.new):
        return {each.metadata.uid: 0 for each in sets.old}
    return _proportional(found, sets) if is_rolling(found) and sets.active else {}


def _only_one(sets: Sets) -> ReplicaSetView | None:
    """The single ReplicaSet with pods; if none has pods, the one to scale."""
    if len(sets.active) == 1:
        return sets.active[0]
    if sets.active or not sets.all:
        return None
    return sets.new or max(sets.old, key=age)


def _is_saturated(found: DeploymentView, new: ReplicaSetView) -> bool:
    wanted = found.spec.replicas
    recorded = int64(new.metadata.annotations.get(DESIRED, ""))
    return new.spec.replicas == wanted == recorded == new.status.available_replicas


def _proportional(found: DeploymentView, sets: Sets) -> Sizes:
    allowed = found.spec.replicas + surge(found) if found.spec.replicas > 0 else 0
    to_add = allowed - sum(each.spec.replicas for each in sets.active)
    ranked = _ranked(sets.active, to_add)
    sizes, added = {each.metadata.uid: each.spec.replicas for each in ranked}, 0
    for each in ranked:
        left = to_add - added
        share = _share(found, each)
        share = min(share, left) if to_add > 0 else max(share, left)
        sizes[each.metadata.uid] += share if to_add else 0
        added += share if to_add else 0
    largest = ranked[0].metadata.uid
    sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _ranked(sets: Sequence[ReplicaSetView], to_add: int) -> list[ReplicaSetView]:
    """Largest first; of equal ones the newer when scaling up, the older when scaling down."""
    by_age = sorted(sets, key=age)
    return sorted(by_age[::-1] if to_add > 0 else by_age, key=lambda each: -each.spec.replicas)


def _share(found: DeploymentView, each: ReplicaSetView) -> int:
    if found.spec.replicas == 0:
        return -each.spec.replicas
    before = int64(each.metadata.annotations.get(MOST, "")) or found.status.replicas
    if before <= 0:
        return 0
    size = each.spec.replicas * (found.spec.replicas + surge(found)) / before
    return int(size + 0.5) - each.spec.replicas
