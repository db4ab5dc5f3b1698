"""Context shared by all pods of a process runtime."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from kohort.embedded.runtimes.devices import Devices
from kohort.embedded.runtimes.process.host_capabilities import HostCapabilities
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.task_monitor import TaskMonitorClient
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.kube.client import Client

MAX_IMAGES = 10_000


@dataclass(frozen=True, slots=True)
class ProcessRuntimeContext:
    """Client, settings, capabilities and shared state."""

    client: Client
    settings: ProcessSettings
    capabilities: HostCapabilities
    devices: Devices
    task_monitor: TaskMonitorClient
    images: MutableMapping[str, None] = field(default_factory=dict)
    """Images for which the ImageNotUsed event was recorded."""

    def remove(self, directories: PodDirectories) -> None:
        """Removes all resources of a pod without processes."""
        directories.remove()
        if self.capabilities.groups is not None:
            self.capabilities.groups.forget(directories.pod)

    def is_news(self, image: str) -> bool:
        """Whether an image occurs for the first time."""
        if image in self.images:
            return False
        if len(self.images) >= MAX_IMAGES:
            self.images.clear()
        self.images[image] = None
        return True
