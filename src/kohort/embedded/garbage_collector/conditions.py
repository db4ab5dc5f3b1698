"""Conditions of terminating namespaces; types, reasons and messages are Kubernetes' own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kohort.api.codec import Json


@dataclass(frozen=True, slots=True)
class RemainingContent:
    """What a deletion pass left in a namespace."""

    undiscovered: tuple[str, ...] = ()
    """Group versions whose discovery failed."""
    failures: tuple[str, ...] = ()
    """Deletion errors."""
    objects: Mapping[str, int] = field(default_factory=dict)
    """Number of remaining objects by resource (`jobs.batch`)."""
    finalizers: Mapping[str, int] = field(default_factory=dict)
    """Number of objects by remaining finalizer."""

    @property
    def is_empty(self) -> bool:
        """Whether the namespace is empty."""
        return not (self.undiscovered or self.failures or self.objects)

    def __add__(self, other: "RemainingContent") -> "RemainingContent":
        return RemainingContent(
            self.undiscovered + other.undiscovered,
            self.failures + other.failures,
            Counter(self.objects) + Counter(other.objects),
            Counter(self.finalizers) + Counter(other.finalizers),
        )


class _ConditionUpdate(NamedTuple):
    type: str
    status: str
    reason: str
    message: str


def _good(kind: str, reason: str, message: str) -> _ConditionUpdate:
    return _ConditionUpdate(kind, "False", reason, message)


def _bad(kind: str, reason: str, message: str) -> _ConditionUpdate:
    return _ConditionUpdate(kind, "True", reason, message)


def conditions(present: Sequence[Json], remains: RemainingContent, now: str) -> list[Json]:
    """The conditions after a pass; unchanged ones keep their time, other types are kept."""
    before = {each.get("type"): each for each in present}
    update = (_discovery(remains), _parsing(), _content(remains), _remaining(remains), _finalizers(remains))
    new = {each.type: _condition(each, before.get(each.type), now) for each in update}
    return list({**before, **new}.values())


def _condition(update: _ConditionUpdate, before: Json, now: str) -> Json:
    unchanged = before is not None and before.get("status") == update.status
    return {**update._asdict(), "lastTransitionTime": before.get("lastTransitionTime") if unchanged else now}


def _discovery(remains: RemainingContent) -> _ConditionUpdate:
    kind = "NamespaceDeletionDiscoveryFailure"
    failed = remains.undiscovered
    if not failed:
        return _good(kind, "ResourcesDiscovered", "All resources successfully discovered")
    each = ", ".join(f"{group}: stale GroupVersion discovery: {group}" for group in failed)
    why = f"unable to retrieve the complete list of server APIs: {each}"
    return _bad(kind, "DiscoveryFailed", f"Discovery failed for some groups, {len(failed)} failing: {why}")


def _parsing() -> _ConditionUpdate:
    """Always False; kept because clients expect the condition."""
    kind = "NamespaceDeletionGroupVersionParsingFailure"
    return _good(kind, "ParsedGroupVersions", "All legacy kube types successfully parsed")


def _content(remains: RemainingContent) -> _ConditionUpdate:
    kind = "NamespaceDeletionContentFailure"
    if not remains.failures:
        return _good(kind, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
    failures = ", ".join(remains.failures)
    message = f"Failed to delete all resource types, {len(remains.failures)} remaining: {failures}"
    return _bad(kind, "ContentDeletionFailed", message)


def _remaining(remains: RemainingContent) -> _ConditionUpdate:
    kind = "NamespaceContentRemaining"
    if not remains.objects:
        return _good(kind, "ContentRemoved", "All content successfully removed")
    counts = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(remains.objects.items()))
    return _bad(kind, "SomeResourcesRemain", f"Some resources are remaining: {counts}")


def _finalizers(remains: RemainingContent) -> _ConditionUpdate:
    kind = "NamespaceFinalizersRemaining"
    if not remains.finalizers:
        return _good(kind, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
    counts = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(remains.finalizers.items()))
    return _bad(kind, "SomeFinalizersRemain", f"Some content in the namespace has finalizers remaining: {counts}")
