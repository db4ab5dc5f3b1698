"""The containers of a pod as supervised: roles, restart policy and previous state."""

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
    """After which terminations a container is restarted."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"

    def restarts(self, exit_code: int) -> bool:
        """Whether a container with this exit code is restarted."""
        return self is ContainerRestartPolicy.ALWAYS or (self is ContainerRestartPolicy.ON_FAILURE and exit_code != 0)


@dataclass(frozen=True, slots=True)
class SupervisedContainer:
    """The fields of a container that supervision uses."""

    name: str
    role: ContainerRole = ContainerRole.MAIN
    pre_stop: bool = False
    probes: Probes = NO_PROBES


@dataclass(frozen=True, slots=True)
class PodContainers:
    """The containers of a pod in spec order, with restart policy and grace period."""

    pod: str
    """`name_namespace(uid)`, as used in messages."""
    members: tuple[SupervisedContainer, ...]
    policy: ContainerRestartPolicy = ContainerRestartPolicy.ALWAYS
    grace: float = 30.0


@dataclass(frozen=True, slots=True)
class PreviousContainerState:
    """The state of a container before this supervision began."""

    attempt: int
    state: Running | Terminated
    last: Terminated | None = None
    ready: bool = False
    """Whether it was ready."""
