"""Revisions of a Deployment: its ReplicaSets, their templates and revision numbers.

Templates are compared by content. The hash in names and labels only distinguishes ReplicaSets; it need not equal the
one that kube-controller-manager would compute.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kohort.api.codec import Json, to_json, without_nulls
from kohort.api.selectors import int64
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.serving import DeploymentView, ReplicaSetView, TemplateJson
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
_MAX_HISTORY_LENGTH = 2000
_MAX_NAME_LENGTH = 253


@dataclass(frozen=True, slots=True)
class Sets:
    """The ReplicaSets of a Deployment, oldest first: the one with the current template and all others."""

    new: ReplicaSetView | None
    old: tuple[ReplicaSetView, ...]

    @property
    def all(self) -> tuple[ReplicaSetView, ...]:
        """All ReplicaSets."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[ReplicaSetView, ...]:
        """ReplicaSets with nonzero replicas."""
        return tuple(each for each in self.all if each.spec.replicas > 0)

    def with_changed(self, changed: ReplicaSetView) -> "Sets":
        """The same sets with a newer version of one of them."""
        uid = changed.metadata.uid
        old = tuple(changed if each.metadata.uid == uid else each for each in self.old)
        return Sets(changed if self.new is not None and self.new.metadata.uid == uid else self.new, old)


def sorted_sets(found: DeploymentView, sets: Iterable[ReplicaSetView]) -> Sets:
    """Separates the ReplicaSet with the current template from the others; the oldest of several counts."""
    by_age = sorted(sets, key=age)
    wanted = bare(found.spec.template)
    new = next((each for each in by_age if bare(each.spec.template) == wanted), None)
    return Sets(new, tuple(each for each in by_age if each is not new))


def age(found: ReplicaSetView) -> tuple[float, str]:
    """Sort key: oldest first."""
    created = found.metadata.creation_timestamp
    return (created.timestamp() if created else 0.0, found.metadata.name)


def bare(template: TemplateJson) -> Json:
    """A template without the pod-template-hash label."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH}
    return without_nulls({**template, "metadata": {**metadata, "labels": labels}})


def template_hash(template: TemplateJson, collisions: int | None) -> str:
    """The pod-template-hash of a template."""
    return short_hash(bare(template), collisions)


def new_set(found: DeploymentView, replicas: int, annotations: dict[str, str]) -> dict[str, Json]:
    """The ReplicaSet for a Deployment's current template."""
    template = found.spec.template
    mark = {HASH: template_hash(template, found.status.collision_count)}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **mark}
    selector = to_json(found.spec.selector)
    return {
        "metadata": {
            "name": f"{found.metadata.name[: _MAX_NAME_LENGTH - HASH_LENGTH - 1]}-{mark[HASH]}",
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


def revision(found: ReplicaSetView) -> int:
    """The revision of a ReplicaSet; 0 if it has none."""
    return int64(found.metadata.annotations.get(REVISION, "")) or 0


def next_revision(sets: Sets) -> int:
    """The revision of the current template if it is not the newest already."""
    return max((revision(each) for each in sets.old), default=0) + 1


def copied_annotations(found: DeploymentView) -> dict[str, str]:
    """Annotations copied from a Deployment to its newest ReplicaSet."""
    return {key: value for key, value in found.metadata.annotations.items() if key not in _NOT_COPIED}


def new_annotations(found: DeploymentView, sets: Sets) -> dict[str, str]:
    """Annotations of the ReplicaSet with the current template: copied ones and the revision."""
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
    """The previous revisions of a ReplicaSet; the oldest are dropped above the limit."""
    numbers = [*(each for each in past.split(",") if each), number]
    while len(",".join(numbers)) > _MAX_HISTORY_LENGTH:
        numbers.pop(0)
    return ",".join(numbers)


def outdated(found: DeploymentView, sets: Sequence[ReplicaSetView]) -> list[ReplicaSetView]:
    """Scaled-down old ReplicaSets beyond revisionHistoryLimit."""
    kept = [each for each in sets if each.metadata.deletion_timestamp is None]
    surplus = len(kept) - found.spec.revision_history_limit
    oldest = sorted(kept, key=lambda each: (revision(each), age(each)))[: max(0, surplus)]
    return [each for each in oldest if _is_idle(each)]


def _is_idle(found: ReplicaSetView) -> bool:
    is_observed = found.metadata.generation <= found.status.observed_generation
    return is_observed and found.spec.replicas == 0 and found.status.replicas == 0
