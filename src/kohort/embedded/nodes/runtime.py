"""The interface between the node agent and a runtime: processes, containers or simulation.

A runtime runs containers and reports their states; phase, conditions and API writes are up to the agent.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Literal, Protocol

import msgspec

from kohort.api.codec import Json
from kohort.api.struct import FrozenMeta
from kohort.embedded.server.subresources.logs import PodLogOptions


class RuntimeValue(msgspec.Struct, metaclass=FrozenMeta, frozen=True, gc=False):
    """A small immutable value; there are several for each of a hundred thousand pods."""


class ContainerWaiting(RuntimeValue):
    """The container has not started or awaits its restart (`ContainerCreating`, `CrashLoopBackOff` …)."""

    reason: str
    message: str = ""


class Running(RuntimeValue):
    """The container is running."""

    started: datetime


class Terminated(RuntimeValue):
    """The container terminated (`Completed`, `Error`, `OOMKilled` …)."""

    exit_code: int
    reason: str
    started: datetime
    finished: datetime
    signal: int = 0
    message: str = ""


State = ContainerWaiting | Running | Terminated


class RuntimeContainerStatus(RuntimeValue):
    """A container as reported by the runtime."""

    name: str
    state: State
    restarts: int = 0
    last: Terminated | None = None
    """How it terminated before its last restart."""
    ready: bool = False
    starting: bool = False
    """Whether it is running but its startup probe has not succeeded yet."""


class PodFailure(RuntimeValue):
    """Why the node failed a pod (`Evicted`, `UnexpectedAdmissionError` …)."""

    reason: str
    message: str = ""


class PodState(RuntimeValue):
    """All containers of a pod in spec order; a missing container is waiting."""

    containers: tuple[RuntimeContainerStatus, ...]
    init: tuple[RuntimeContainerStatus, ...] = ()
    failed: PodFailure | None = None
    over: bool = False
    """Whether no further change will happen, as with a pod stopped before its containers ran."""


class PodEvent(RuntimeValue):
    """A pod event in the kubelet's words: `Pulled`, `Created`, `Started`, `BackOff`, `Failed` …"""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class PodStatusSink(Protocol):
    """Receives reports of a runtime on the event loop."""

    def state(self, state: PodState) -> None:
        """Reports the complete current state; repeating it costs nothing."""
        ...

    def note(self, note: PodEvent) -> None:
        """Reports an event for `kubectl describe`."""
        ...


class RunningPod(Protocol):
    """A pod run by a runtime."""

    def stop(self, grace: float) -> None:
        """Stops all containers within the grace period; idempotent, and a shorter grace period later applies.

        The last reported state has every container terminated, or waiting if it never ran and `over`; without `over`
        the agent waits slightly longer than the grace period before it treats waiting containers as stopped.
        """
        ...

    def logs(self, options: PodLogOptions) -> AsyncIterator[bytes]:
        """The output of a container; raises `StatusError` if there is none."""
        ...

    async def close(self) -> None:
        """Releases all resources of a pod that was deleted from the API."""
        ...


class Runtime(Protocol):
    """Runs pods; one runtime serves all nodes of its agent."""

    async def start(self) -> None:
        """Prepares to run pods; called once."""
        ...

    async def stop(self) -> None:
        """The agent stops; each runtime defines what happens to running pods."""
        ...

    def run(self, pod: dict[str, Json], reports: PodStatusSink) -> RunningPod:
        """Starts a pod given as JSON, which must not be modified; its status shows what a previous agent reported."""
        ...
