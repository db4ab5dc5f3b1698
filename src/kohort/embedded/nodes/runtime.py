"""The contract between a node agent and whatever really runs pods: processes, containers, or nothing but a clock.

A runtime knows containers and says what they do; phase, conditions and every write to the API are the agent's.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from kohort.api.codec import Json
from kohort.api.struct import FrozenMeta
from kohort.embedded.server.subresources.logs import PodLogOptions


class Value(msgspec.Struct, metaclass=FrozenMeta, frozen=True, gc=False):
    """A small immutable fact; there are several for each of a hundred thousand pods."""


class ContainerWaiting(Value):
    """The container does not run yet, or waits for its restart (`ContainerCreating`, `CrashLoopBackOff` …)."""

    reason: str
    message: str = ""


class Running(Value):
    """The container runs."""

    started: datetime


class Terminated(Value):
    """The container ran and ended (`Completed`, `Error`, `OOMKilled` …)."""

    exit_code: int
    reason: str
    started: datetime
    finished: datetime
    signal: int = 0
    message: str = ""


State = ContainerWaiting | Running | Terminated


class RuntimeContainerStatus(Value):
    """One container as the runtime has it."""

    name: str
    state: State
    restarts: int = 0
    last: Terminated | None = None
    """How it ended before its last restart."""
    ready: bool = False
    starting: bool = False
    """Whether it runs, and something that its spec names must happen before it counts as started."""


class PodFailure(Value):
    """Why the node gave up on a pod (`Evicted`, `UnexpectedAdmissionError` …)."""

    reason: str
    message: str = ""


class PodState(Value):
    """All containers of a pod, in the order of its spec; a container that is left out waits."""

    containers: tuple[RuntimeContainerStatus, ...]
    init: tuple[RuntimeContainerStatus, ...] = ()
    failed: PodFailure | None = None
    over: bool = False
    """Whether nothing will ever happen again, as of a pod that was stopped before its containers ran."""


class PodEvent(Value):
    """An event about the pod, worded as the kubelet does: `Pulled`, `Created`, `Started`, `BackOff`, `Failed` …"""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class PodStatusSink(Protocol):
    """Where a runtime tells what happens to a pod: from the event loop, any number of times."""

    def state(self, state: PodState) -> None:
        """The whole state of the pod now; the same one again costs nothing."""
        ...

    def note(self, note: PodEvent) -> None:
        """Something that people should read in `kubectl describe`."""
        ...


class RunningPod(Protocol):
    """A pod in the hands of a runtime."""

    def stop(self, grace: float) -> None:
        """End all containers within so many seconds; idempotent, and a smaller grace later shortens it.

        The last state that is reported has every container terminated, or waiting if it never ran and `over`; without
        that word the agent waits a little longer than the grace before it takes waiting containers for stopped.
        """
        ...

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """The output of a container; raises `StatusError` where there is none."""
        ...

    async def close(self) -> None:
        """The pod is gone from the API: free everything it had."""
        ...


class Runtime(Protocol):
    """What runs pods; one runtime serves all nodes of its agent."""

    def devices(self) -> Mapping[str, int]:
        """How many of which extended resources it can assign (`nvidia.com/gpu`: 8)."""
        ...

    async def start(self) -> None:
        """Get ready to run pods; called once, before any of them."""
        ...

    async def stop(self) -> None:
        """The agent goes down; what becomes of the pods that still run is said by each runtime."""
        ...

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> RunningPod:
        """Take a pod as it came from the API, never to be changed; its status tells what a former agent has seen."""
        ...
