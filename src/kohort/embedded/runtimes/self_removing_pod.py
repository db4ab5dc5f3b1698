"""A pod that is removed from its runtime's list when it is closed."""

from collections.abc import Callable

from kohort.embedded.nodes.runtime import RunningPod


class SelfRemovingPod:
    """Wraps a pod with a callback for its removal."""

    def __init__(self, pod: RunningPod, forget: Callable[[], object]) -> None:
        self._pod = pod
        self._forget = forget
        self.stop = pod.stop
        self.logs = pod.logs

    async def close(self) -> None:
        """Releases the pod and calls back."""
        await self._pod.close()
        self._forget()
