"""ControllerRevisions of StatefulSet templates, as used by `kubectl rollout undo`."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from kohort.api.codec import Json, without_nulls
from kohort.api.core.objects import ObjectView
from kohort.api.resource import Resource
from kohort.embedded.controllers.pod_control import controller_reference
from kohort.embedded.controllers.serving import StatefulSetView, TemplateJson
from kohort.embedded.controllers.statefulsets.identity import revision_of
from kohort.embedded.controllers.templates import HASH_LENGTH, short_hash
from kohort.embedded.controllers.views import ControllerPod

HASH_LABEL = "controller.kubernetes.io/hash"
_MAX_NAME_LENGTH = 223


class StatefulSetRevision(ObjectView):
    """A ControllerRevision: a template and its revision number."""

    resource: ClassVar = Resource("apps", "v1", "ControllerRevision", "controllerrevisions", namespaced=True)

    revision: int = 0
    data: dict[str, Any] = {}

    @property
    def template(self) -> TemplateJson:
        """The stored template."""
        kept: TemplateJson = (self.data.get("spec") or {}).get("template") or {}
        return {key: value for key, value in kept.items() if key != "$patch"}


def in_order(revisions: Iterable[StatefulSetRevision]) -> list[StatefulSetRevision]:
    """Revisions, oldest first."""
    return sorted(revisions, key=lambda each: (each.revision, each.metadata.name))


def equal_revision(found: StatefulSetView, history: Sequence[StatefulSetRevision]) -> StatefulSetRevision | None:
    """The newest revision with the current template."""
    wanted = without_nulls(found.spec.template)
    return next((each for each in reversed(history) if without_nulls(each.template) == wanted), None)


def next_number(history: Sequence[StatefulSetRevision]) -> int:
    """The next revision number."""
    return history[-1].revision + 1 if history else 1


def new_revision(found: StatefulSetView, number: int, collisions: int) -> dict[str, Json]:
    """The revision of a set's current template."""
    template = found.spec.template
    hash_ = short_hash(without_nulls(template), collisions)
    labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hash_}
    return {
        "metadata": {
            "name": f"{found.metadata.name[: _MAX_NAME_LENGTH - HASH_LENGTH]}-{hash_}",
            "namespace": found.metadata.namespace,
            "labels": labels,
            "annotations": dict(found.metadata.annotations),
            "ownerReferences": [controller_reference(found)],
        },
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }


def outdated(
    found: StatefulSetView, history: Sequence[StatefulSetRevision], pods: Iterable[ControllerPod], live: Iterable[str]
) -> list[StatefulSetRevision]:
    """Unused revisions beyond revisionHistoryLimit."""
    used = {*live, *(revision_of(pod) for pod in pods)}
    idle = [each for each in history if each.metadata.name not in used]
    return idle[: max(0, len(idle) - found.spec.revision_history_limit)]
