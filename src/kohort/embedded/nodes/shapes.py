"""What of a pod its status depends on besides its state; equal for all pods of one template, so kept once for them."""

from kohort.embedded.nodes.runtime import Value

_MOST = 4096


class ContainerShape(Value):
    """A container as far as its status repeats it."""

    name: str
    image: str = ""
    is_sidecar: bool = False


class PodStatusShape(Value):
    """A pod's spec as far as its status depends on it."""

    containers: tuple[ContainerShape, ...]
    init: tuple[ContainerShape, ...] = ()
    restart_policy: str = "Always"
    gates: tuple[str, ...] = ()
    """Conditions that others set before the pod counts as ready."""
    host_network: bool = False
    deadline: int | None = None
    """Seconds that the pod may be active."""
    grace: int = 30
    """Seconds between the request to stop and the kill."""

    def restarts(self, exit_code: int) -> bool:
        """Whether a container that ended so is started again."""
        return self.restart_policy == "Always" or (self.restart_policy == "OnFailure" and exit_code != 0)


class Shapes:
    """Each shape once, as long as there are not too many different ones."""

    def __init__(self) -> None:
        self._known: dict[PodStatusShape, PodStatusShape] = {}

    def shared(self, shape: PodStatusShape) -> PodStatusShape:
        """The shape that stands for all that equal it."""
        if len(self._known) >= _MOST:
            self._known.clear()
        return self._known.setdefault(shape, shape)
