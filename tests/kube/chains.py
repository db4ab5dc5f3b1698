"""A handler that checks the law of handlers: each object's calls form one chain, from its coming to its going."""

from typing import Generic, TypeVar

from kohort.api.meta import ObjectKey
from kohort.kube.resource_types import ObjectIdentity, ResourceType

T = TypeVar("T")


class Chains(Generic[T]):
    """What a reader knows who only listens."""

    def __init__(self, kind: ResourceType[T]) -> None:
        self._kind = kind
        self.known: dict[ObjectKey, T] = {}
        self.calls: list[str] = []
        self.breaks: list[str] = []

    def __call__(self, old: T | None, new: T | None) -> None:
        something = new if new is not None else old
        assert something is not None, "a call about nothing"
        identity = self._kind.identity(something)
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
            return "changed or deleted without having been there"
        same_life = self._kind.identity(before).uid == self._kind.identity(old).uid == identity.uid
        if not same_life:
            return "another life of the object"
        return "" if new is None or old is before else "the old state is not the one told last"
