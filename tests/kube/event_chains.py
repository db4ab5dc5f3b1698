"""An event handler that checks that the calls for each object form a chain from its addition to its deletion."""

from typing import Generic, TypeVar

from kohort.api.meta import ObjectKey
from kohort.kube.resource_types import ObjectIdentity, ResourceType

T = TypeVar("T")


class EventChainChecker(Generic[T]):
    """The state of a consumer that only gets the calls of its handler."""

    def __init__(self, kind: ResourceType[T]) -> None:
        self._kind = kind
        self.known: dict[ObjectKey, T] = {}
        self.calls: list[str] = []
        self.breaks: list[str] = []

    def __call__(self, old: T | None, new: T | None) -> None:
        current = new if new is not None else old
        assert current is not None, "a call without an object"
        identity = self._kind.identity(current)
        problem = self._problem(identity, old, new)
        self.calls.append(f"{'+' if old is None else '-' if new is None else '~'}{identity.key}")
        if problem:
            self.breaks.append(f"{self.calls[-1]}: {problem}")
        if new is None:
            self.known.pop(identity.key, None)
        else:
            self.known[identity.key] = new

    def _problem(self, identity: ObjectIdentity, old: T | None, new: T | None) -> str:
        before = self.known.get(identity.key)
        if old is None:
            return "added twice" if before is not None else ""
        if before is None:
            return "updated or deleted without having been added"
        same_uid = self._kind.identity(before).uid == self._kind.identity(old).uid == identity.uid
        if not same_uid:
            return "another object of the same name"
        return "" if new is None or old is before else "the old state is not that of the previous call"
