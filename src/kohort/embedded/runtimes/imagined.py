"""One container played by another runtime, as a pod of its own: for containers whose program only their image knows."""

from collections.abc import AsyncIterator, Callable

from kohort.api.codec import Json
from kohort.embedded.nodes.runtime import Note, PodState, Running, RunningPod, Runtime, Terminated
from kohort.embedded.server.logs import LogOptions


class Imagined:
    """One start of such a container."""

    def __init__(self, on_start: Callable[[Running], None], on_end: Callable[[Terminated], None], name: str) -> None:
        self._name = name
        self._on_start = on_start
        self._on_end = on_end
        self._running = False
        self._ended = False
        self._pod: RunningPod | None = None

    def begin(self, runtime: Runtime, pod: dict[str, Json], container: dict[str, Json]) -> None:
        """Have the container played."""
        spec = {**pod["spec"], "containers": [container], "initContainers": [], "volumes": []}
        metadata = {**pod["metadata"], "uid": f"{pod['metadata']['uid']}-{self._name}"}
        self._pod = runtime.run({**pod, "metadata": metadata, "spec": spec, "status": {}}, self)

    def stop(self, grace: float) -> None:
        """End it."""
        if self._pod is not None:
            self._pod.stop(grace)

    def logs(self, options: LogOptions) -> AsyncIterator[bytes]:
        """What it would have printed."""
        assert self._pod is not None  # noqa: S101
        return self._pod.logs(options)

    async def close(self) -> None:
        """Forget it."""
        if self._pod is not None:
            await self._pod.close()

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._ended

    # What the other runtime reports

    def state(self, state: PodState) -> None:
        """Take in what became of it; it ends once, since starting it again is for its own pod to decide."""
        status = next((each for each in state.containers if each.name == self._name), None)
        if status is None or self._ended:
            return
        if isinstance(status.state, Running) and not self._running:
            self._running = True
            self._on_start(status.state)
        end = status.state if isinstance(status.state, Terminated) else status.last
        if end is not None:
            self._ended = True
            self.stop(0.0)
            self._on_end(end)

    def note(self, note: Note) -> None:
        """What it says of itself is no news of the pod that it stands in for."""
