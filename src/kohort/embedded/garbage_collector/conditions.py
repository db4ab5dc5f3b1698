"""How far the end of a namespace is, as its status tells it; types, reasons and messages are Kubernetes' own."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kohort.api.codec import Json


@dataclass(frozen=True, slots=True)
class RemainingContent:
    """What a pass over a namespace left behind."""

    undiscovered: tuple[str, ...] = ()
    """Groups that may have content, and that nobody could ask."""
    failures: tuple[str, ...] = ()
    """What could not be deleted, and why."""
    objects: Mapping[str, int] = field(default_factory=dict)
    """How many objects of which resource (`jobs.batch`) are still there."""
    finalizers: Mapping[str, int] = field(default_factory=dict)
    """How many objects each finalizer holds."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left for certain."""
        return not (self.undiscovered or self.failures or self.objects)

    def __add__(self, other: "RemainingContent") -> "RemainingContent":
        return RemainingContent(
            self.undiscovered + other.undiscovered,
            self.failures + other.failures,
            Counter(self.objects) + Counter(other.objects),
            Counter(self.finalizers) + Counter(other.finalizers),
        )


class _Said(NamedTuple):
    type: str
    status: str
    reason: str
    message: str


def _good(kind: str, reason: str, message: str) -> _Said:
    return _Said(kind, "False", reason, message)


def _bad(kind: str, reason: str, message: str) -> _Said:
    return _Said(kind, "True", reason, message)


def conditions(present: Sequence[Json], remains: RemainingContent, now: str) -> list[Json]:
    """The conditions of a namespace after a pass; what stays as it was keeps its time, and what is others' stays."""
    before = {each.get("type"): each for each in present}
    said = (_discovery(remains), _parsing(), _content(remains), _remaining(remains), _finalizers(remains))
    new = {each.type: _condition(each, before.get(each.type), now) for each in said}
    return list({**before, **new}.values())


def _condition(said: _Said, before: Json, now: str) -> Json:
    unchanged = before is not None and before.get("status") == said.status
    return {**said._asdict(), "lastTransitionTime": before.get("lastTransitionTime") if unchanged else now}


def _discovery(remains: RemainingContent) -> _Said:
    kind = "NamespaceDeletionDiscoveryFailure"
    failed = remains.undiscovered
    if not failed:
        return _good(kind, "ResourcesDiscovered", "All resources successfully discovered")
    each = ", ".join(f"{group}: stale GroupVersion discovery: {group}" for group in failed)
    why = f"unable to retrieve the complete list of server APIs: {each}"
    return _bad(kind, "DiscoveryFailed", f"Discovery failed for some groups, {len(failed)} failing: {why}")


def _parsing() -> _Said:
    """Always well here; kept because clients look for it."""
    kind = "NamespaceDeletionGroupVersionParsingFailure"
    return _good(kind, "ParsedGroupVersions", "All legacy kube types successfully parsed")


def _content(remains: RemainingContent) -> _Said:
    kind = "NamespaceDeletionContentFailure"
    if not remains.failures:
        return _good(kind, "ContentDeleted", "All content successfully deleted, may be waiting on finalization")
    failures = ", ".join(remains.failures)
    message = f"Failed to delete all resource types, {len(remains.failures)} remaining: {failures}"
    return _bad(kind, "ContentDeletionFailed", message)


def _remaining(remains: RemainingContent) -> _Said:
    kind = "NamespaceContentRemaining"
    if not remains.objects:
        return _good(kind, "ContentRemoved", "All content successfully removed")
    counts = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(remains.objects.items()))
    return _bad(kind, "SomeResourcesRemain", f"Some resources are remaining: {counts}")


def _finalizers(remains: RemainingContent) -> _Said:
    kind = "NamespaceFinalizersRemaining"
    if not remains.finalizers:
        return _good(kind, "ContentHasNoFinalizers", "All content-preserving finalizers finished")
    counts = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(remains.finalizers.items()))
    return _bad(kind, "SomeFinalizersRemain", f"Some content in the namespace has finalizers remaining: {counts}")
