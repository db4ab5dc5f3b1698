"""Plans the pod changes of a StatefulSet and computes its status; pure.

With OrderedReady one change happens at a time: each pod waits for lower ordinals to start and higher ones to stop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from kohort.api.core.apps import StatefulSetStatus
from kohort.embedded.controllers.availability import is_available
from kohort.embedded.controllers.serving import StatefulSetView
from kohort.embedded.controllers.shares import rounded_down
from kohort.embedded.controllers.statefulsets.identity import has_identity, ordinal_of, revision_of
from kohort.embedded.controllers.views import ControllerPod


@dataclass(frozen=True, slots=True)
class RevisionNames:
    """Names of the current and the update revision of a set."""

    current: str
    update: str


@dataclass(frozen=True, slots=True)
class PodToCreate:
    """A pod to create."""

    ordinal: int
    revision: str


@dataclass(slots=True)
class StatefulSetPlan:
    """The changes to make now."""

    creates: list[PodToCreate] = field(default_factory=list)
    deletes: list[ControllerPod] = field(default_factory=list)
    unlabeled: list[ControllerPod] = field(default_factory=list)
    """Pods without identity labels."""


class _Blocked(Exception):  # noqa: N818 - not an error, but the end of the evaluation
    """Further changes have to wait."""


@dataclass(frozen=True, slots=True)
class OrdinalPods:
    """The set's pods by ordinal, and the pods beyond its range, highest ordinal first."""

    by_ordinal: dict[int, ControllerPod | None]
    surplus: tuple[ControllerPod, ...]


def ordinal_pods(found: StatefulSetView, pods: Sequence[ControllerPod]) -> OrdinalPods:
    """Assigns pods to ordinals; pods without an ordinal are ignored."""
    start = found.spec.ordinals.start
    by_ordinal: dict[int, ControllerPod | None] = dict.fromkeys(range(start, start + found.spec.replicas))
    surplus = []
    for pod in pods:
        ordinal = ordinal_of(pod)
        if ordinal in by_ordinal:
            by_ordinal[ordinal] = pod
        elif ordinal >= 0:
            surplus.append(pod)
    return OrdinalPods(by_ordinal, tuple(sorted(surplus, key=ordinal_of, reverse=True)))


def plan(found: StatefulSetView, pods: Sequence[ControllerPod], names: RevisionNames, now: datetime) -> StatefulSetPlan:
    """The next changes."""
    evaluation = _Evaluation(found, ordinal_pods(found, pods), names, now.timestamp())
    if found.metadata.deletion_timestamp is None:
        evaluation.take()
    return evaluation.plan


class _Evaluation:
    """One evaluation of a set: create missing pods, delete surplus pods, then update old ones."""

    def __init__(self, found: StatefulSetView, who: OrdinalPods, names: RevisionNames, now: float) -> None:
        self._spec = found.spec
        self._status = found.status
        self._ordinals = who
        self._names = names
        self._now = now
        self._in_order = found.spec.pod_management_policy != "Parallel"
        self.plan = StatefulSetPlan()

    def take(self) -> None:
        try:
            for ordinal, pod in self._ordinals.by_ordinal.items():
                self._fill(ordinal, pod)
            for pod in self._ordinals.surplus:
                self._remove(pod)
            if self._spec.update_strategy.type != "OnDelete":
                self._update()
        except _Blocked:
            return

    def _wait(self) -> None:
        if self._in_order:
            raise _Blocked

    def _fill(self, ordinal: int, pod: ControllerPod | None) -> None:
        if pod is None:
            self.plan.creates.append(PodToCreate(ordinal, self._revision_for(ordinal)))
            self._wait()
            return
        if pod.is_finished:
            if not pod.is_terminating:
                self.plan.deletes.append(pod)
            self._wait()
            return
        if not self._serves(pod):
            self._wait()
        if not has_identity(pod):
            self.plan.unlabeled.append(pod)

    def _revision_for(self, ordinal: int) -> str:
        """Pods below the partition keep the current revision."""
        strategy = self._spec.update_strategy
        if strategy.type == "OnDelete":
            return self._names.update
        kept = strategy.rolling_update
        bound = (kept.partition or 0) if kept is not None else self._status.current_replicas
        return self._names.current if ordinal - self._spec.ordinals.start < bound else self._names.update

    def _remove(self, pod: ControllerPod) -> None:
        if pod.is_terminating:
            self._wait()
            return
        may_recover = not self._serves(pod) and not pod.is_finished
        if may_recover and pod is not self._first_unhealthy():
            self._wait()
        self.plan.deletes.append(pod)
        self._wait()

    def _first_unhealthy(self) -> ControllerPod | None:
        staying = (pod for pod in self._ordinals.by_ordinal.values() if pod is not None)
        return next((pod for pod in (*staying, *self._ordinals.surplus[::-1]) if not self._serves(pod)), None)

    def _update(self) -> None:
        allowance = self._max_unavailable() - sum(not self._serves(pod) for pod in self._ordinals.by_ordinal.values())
        outdated = list(self._outdated())
        if not self._in_order:
            self.plan.deletes += [pod for pod in outdated if not self._serves(pod)]
            outdated = [pod for pod in outdated if self._serves(pod)]
        self.plan.deletes += outdated[: max(0, allowance)]

    def _outdated(self) -> Iterator[ControllerPod]:
        """Pods that should have the update revision and do not, highest ordinal first."""
        kept = self._spec.update_strategy.rolling_update
        partition = (kept.partition or 0) if kept is not None else 0
        for pod in list(self._ordinals.by_ordinal.values())[partition:][::-1]:
            if pod is not None and pod.is_active and revision_of(pod) != self._names.update:
                yield pod

    def _max_unavailable(self) -> int:
        kept = self._spec.update_strategy.rolling_update
        allowed = kept.max_unavailable if kept is not None else None
        return max(1, rounded_down(1 if allowed is None else allowed, self._spec.replicas))

    def _serves(self, pod: ControllerPod | None) -> bool:
        if pod is None or pod.is_terminating or pod.status.phase != "Running":
            return False
        return is_available(pod, self._spec.min_ready_seconds, self._now)


def status_of(
    found: StatefulSetView, pods: Sequence[ControllerPod], names: RevisionNames, collisions: int, now: datetime
) -> StatefulSetStatus:
    """The status of a set with these pods; a completed update makes the update revision the current one."""
    who = ordinal_pods(found, pods)
    counted = [pod for pod in (*who.by_ordinal.values(), *who.surplus) if pod is not None]
    ready = [pod for pod in counted if pod.status.phase == "Running" and pod.is_ready]
    staying = [pod for pod in counted if not pod.is_terminating]
    moment = now.timestamp()
    status = StatefulSetStatus(
        observed_generation=found.metadata.generation,
        replicas=len(counted),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, found.spec.min_ready_seconds, moment) for pod in ready),
        current_replicas=sum(revision_of(pod) == names.current for pod in staying),
        updated_replicas=sum(revision_of(pod) == names.update for pod in staying),
        current_revision=names.current,
        update_revision=names.update,
        collision_count=collisions,
        conditions=found.status.conditions,
    )
    if (status.updated_replicas, status.ready_replicas, status.replicas) != (found.spec.replicas,) * 3:
        return status
    return msgspec.structs.replace(
        status, current_replicas=status.updated_replicas, current_revision=status.update_revision
    )
