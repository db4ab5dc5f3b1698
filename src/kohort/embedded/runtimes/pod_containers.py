"""Who is under supervision: the containers of a pod, the rules they live by, and what is known of them from before."""

from dataclasses import dataclass
from enum import Enum

from kohort.embedded.nodes.runtime import Running, Terminated
from kohort.embedded.runtimes.probes.spec import NO_PROBES, Probes


class ContainerRole(Enum):
    """When a container runs."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


class ContainerRestartPolicy(Enum):
    """Which ends of a container are followed by another start."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"

    def restarts(self, exit_code: int) -> bool:
        """Whether a container that ended so is started again."""
        return self is ContainerRestartPolicy.ALWAYS or (self is ContainerRestartPolicy.ON_FAILURE and exit_code != 0)


@dataclass(frozen=True, slots=True)
class SupervisedContainer:
    """A container as far as its supervision cares."""

    name: str
    role: ContainerRole = ContainerRole.MAIN
    pre_stop: bool = False
    probes: Probes = NO_PROBES


@dataclass(frozen=True, slots=True)
class PodContainers:
    """The containers of a pod in the order of its spec, and the rules they live by."""

    pod: str
    """`name_namespace(uid)`, as messages name it."""
    members: tuple[SupervisedContainer, ...]
    policy: ContainerRestartPolicy = ContainerRestartPolicy.ALWAYS
    grace: float = 30.0


@dataclass(frozen=True, slots=True)
class PreviousContainerState:
    """What is known of a container from before this supervision began."""

    attempt: int
    state: Running | Terminated
    last: Terminated | None = None
    ready: bool = False
    """Whether its probes had found it ready."""
