"""The ReplicaSets of a Deployment as its history: which one has the present template, and which number each has.

A template is told by its content. The hash in names and labels only keeps ReplicaSets apart; it need not be the one
that another controller would have computed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kohort.api.codec import Json, to_json, without_nulls
from kohort.api.selectors import int64
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.serving import SeenDeployment, SeenReplicaSet, Template
from kohort.embedded.controllers.templates import HASH_LENGTH, short_hash

HASH = "pod-template-hash"
_PREFIX = "deployment.kubernetes.io/"
REVISION, HISTORY = f"{_PREFIX}revision", f"{_PREFIX}revision-history"
DESIRED, MOST = f"{_PREFIX}desired-replicas", f"{_PREFIX}max-replicas"
_NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
}
_LONGEST_HISTORY = 2000
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Sets:
    """The ReplicaSets of a Deployment, oldest first: the one with the present template, and all others."""

    new: SeenReplicaSet | None
    old: tuple[SeenReplicaSet, ...]

    @property
    def all(self) -> tuple[SeenReplicaSet, ...]:
        """All of them."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[SeenReplicaSet, ...]:
        """Those that want pods."""
        return tuple(each for each in self.all if each.spec.replicas > 0)

    def with_changed(self, changed: SeenReplicaSet) -> "Sets":
        """The same sets, with a newer state of one of them."""
        uid = changed.metadata.uid
        old = tuple(changed if each.metadata.uid == uid else each for each in self.old)
        return Sets(changed if self.new is not None and self.new.metadata.uid == uid else self.new, old)


def sorted_sets(found: SeenDeployment, sets: Iterable[SeenReplicaSet]) -> Sets:
    """Tell the ReplicaSet with the present template from the others; of several the oldest counts."""
    by_age = sorted(sets, key=age)
    wanted = bare(found.spec.template)
    new = next((each for each in by_age if bare(each.spec.template) == wanted), None)
    return Sets(new, tuple(each for each in by_age if each is not new))


def age(found: SeenReplicaSet) -> tuple[float, str]:
    """Orders ReplicaSets, oldest first."""
    created = found.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, found.metadata.name)


def bare(template: Template) -> Json:
    """A template without the hash that a Deployment adds."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return without_nulls({**template, "metadata": {**metadata, "labels": labels}})


def template_hash(template: Template, collisions: int | None) -> str:
    """A short word for a template."""
    return short_hash(bare(template), collisions)


def new_set(found: SeenDeployment, replicas: int, annotations: dict[str, str]) -> dict[str, Json]:
    """The ReplicaSet of a Deployment's present template."""
    template = found.spec.template
    mark = {HASH: template_hash(template, found.status.collision_count)}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **mark}
    selector = to_json(found.spec.selector)
    return {
        "metadata": {
            "name": f"{found.metadata.name[: _LONGEST_NAME - HASH_LENGTH - 1]}-{mark[HASH]}",
            "namespace": found.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [controller_reference(found)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": found.spec.min_ready_seconds,
            "selector": {**selector, "matchLabels": {**selector.get("matchLabels", {}), **mark}},
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }


def revision(found: SeenReplicaSet) -> int:
    """The number of a ReplicaSet in the history; 0 where it has none."""
    return int64(found.metadata.annotations.get(REVISION, "")) or 0


def next_revision(sets: Sets) -> int:
    """The number that the present template gets when it is not the newest already."""
    return max((revision(each) for each in sets.old), default=0) + 1


def copied_annotations(found: SeenDeployment) -> dict[str, str]:
    """What a Deployment hands down to its newest ReplicaSet."""
    return {key: value for key, value in found.metadata.annotations.items() if key not in _NOT_COPIED}


def new_annotations(found: SeenDeployment, sets: Sets) -> dict[str, str]:
    """The annotations of the ReplicaSet with the present template: handed down, and its number."""
    present = sets.new.metadata.annotations if sets.new is not None else {}
    wanted = {**present, **copied_annotations(found)}
    number = next_revision(sets)
    old = present.get(REVISION, "")
    if old and int64(old) is None:
        return wanted
    if (int64(old) or 0) < number:
        wanted[REVISION] = str(number)
        if old:
            wanted[HISTORY] = _history(present.get(HISTORY, ""), old)
    return wanted


def _history(past: str, number: str) -> str:
    """The numbers that a ReplicaSet had before; the oldest go when there are too many."""
    numbers = [*(each for each in past.split(",") if each), number]
    while len(",".join(numbers)) > _LONGEST_HISTORY:
        numbers.pop(0)
    return ",".join(numbers)


def outdated(found: SeenDeployment, sets: Sequence[SeenReplicaSet]) -> list[SeenReplicaSet]:
    """Old ReplicaSets beyond the history that a Deployment keeps, if nothing of them runs any more."""
    kept = [each for each in sets if each.metadata.deletion_timestamp is None]
    surplus = len(kept) - found.spec.revision_history_limit
    oldest = sorted(kept, key=lambda each: (revision(each), age(each)))[: max(0, surplus)]
    return [each for each in oldest if _is_idle(each)]


def _is_idle(found: SeenReplicaSet) -> bool:
    is_observed = found.metadata.generation <= found.status.observed_generation
    return is_observed and found.spec.replicas == 0 and found.status.replicas == 0
