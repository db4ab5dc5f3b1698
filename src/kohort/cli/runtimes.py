"""Runtimes of the pods, by their name on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kohort.embedded.nodes.addresses import HostAddress, PodIpAllocator
from kohort.embedded.nodes.machine import GPU
from kohort.embedded.nodes.runtime import Runtime
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.runtimes.containers.runtime import ContainersRuntime
from kohort.embedded.runtimes.downward import MachineInfo
from kohort.embedded.runtimes.process.runtime import ProcessRuntime
from kohort.embedded.runtimes.settings import AtStop, ProcessSettings
from kohort.kube.client import Client


class RuntimeName(StrEnum):
    """The available runtimes."""

    PROCESS = "process"
    SIMULATED = "simulated"
    PODMAN = "podman"
    DOCKER = "docker"


@dataclass(frozen=True, slots=True)
class RuntimeChoice:
    """A runtime with its options."""

    name: RuntimeName
    data: Path
    """Directory for pod data and logs."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """Allocatable resources of the machine."""
    simulated: Defaults = field(default_factory=Defaults)
    host_paths: tuple[str, ...] = ()
    at_stop: AtStop = AtStop.LEAVE

    def make(self, client: Client) -> Runtime:
        """Build the runtime."""
        if self.name is RuntimeName.SIMULATED:
            return SimulatedRuntime(client.clock, self.simulated)
        settings = ProcessSettings(
            data=self.data,
            devices={GPU: int(self.capacity[GPU])} if GPU in self.capacity else {},
            host_paths=self.host_paths,
            at_stop=self.at_stop,
            facts=MachineInfo(allocatable=self.capacity),
        )
        if self.name is RuntimeName.PROCESS:
            return ProcessRuntime(client, settings)
        return ContainersRuntime(self.name.value, client, settings)

    def addresses(self) -> PodIpAllocator:
        """The allocator of pod addresses: pods that share the host's network have its address."""
        return PodIpAllocator() if self.name is RuntimeName.SIMULATED else HostAddress()
