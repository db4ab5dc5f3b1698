"""A pod that its runtime forgets when it is closed."""

from collections.abc import Callable

from kohort.embedded.nodes.runtime import RunningPod


class SelfRemovingPod:
    """The same pod, with a last word to whoever lists it."""

    def __init__(self, pod: RunningPod, forget: Callable[[], object]) -> None:
        self._pod = pod
        self._forget = forget
        self.stop = pod.stop
        self.logs = pod.logs

    async def close(self) -> None:
        """Free everything, and be forgotten."""
        await self._pod.close()
        self._forget()
