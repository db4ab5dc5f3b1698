"""The part of a pod spec that its status depends on; equal for all pods of one template and shared between them."""

from kohort.embedded.nodes.runtime import RuntimeValue

_MAX_SHAPES = 4096


class ContainerShape(RuntimeValue):
    """The part of a container that its status repeats."""

    name: str
    image: str = ""
    is_sidecar: bool = False


class PodStatusShape(RuntimeValue):
    """The part of a pod spec that its status depends on."""

    containers: tuple[ContainerShape, ...]
    init: tuple[ContainerShape, ...] = ()
    restart_policy: str = "Always"
    gates: tuple[str, ...] = ()
    """Readiness gates."""
    host_network: bool = False
    deadline: int | None = None
    """activeDeadlineSeconds."""
    grace: int = 30
    """terminationGracePeriodSeconds."""

    def restarts(self, exit_code: int) -> bool:
        """Whether a container with this exit code is restarted."""
        return self.restart_policy == "Always" or (self.restart_policy == "OnFailure" and exit_code != 0)


class Shapes:
    """Interns shapes, up to a limit."""

    def __init__(self) -> None:
        self._known: dict[PodStatusShape, PodStatusShape] = {}

    def shared(self, shape: PodStatusShape) -> PodStatusShape:
        """The interned shape."""
        if len(self._known) >= _MAX_SHAPES:
            self._known.clear()
        return self._known.setdefault(shape, shape)
