"""The cache of pods, seen by an owner that may not adopt every stray."""

from collections.abc import Callable, Hashable

from kohort.embedded.controllers.seen import SeenPod, controller_of
from kohort.kube.cache import Cache


class EligiblePods(Cache[SeenPod]):
    """Another cache, without the strays that are not to be adopted."""

    def __init__(self, inner: Cache[SeenPod], may_adopt: Callable[[SeenPod], bool]) -> None:
        super().__init__()
        self._inner = inner
        self._may_adopt = may_adopt

    def find(self, index: str, value: Hashable) -> list[SeenPod]:
        """What the other cache finds; of strays, only those that may be adopted."""
        found = self._inner.find(index, value)
        return [pod for pod in found if controller_of(pod.metadata) is not None or self._may_adopt(pod)]
