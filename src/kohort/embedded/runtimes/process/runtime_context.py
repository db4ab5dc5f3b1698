"""What all pods of a process runtime share."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from kohort.embedded.runtimes.devices import Devices
from kohort.embedded.runtimes.process.host_capabilities import HostCapabilities
from kohort.embedded.runtimes.process.pod_directories import PodDirectories
from kohort.embedded.runtimes.process.task_monitor import TaskMonitorClient
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.kube.client import Client

MOST_IMAGES = 10_000


@dataclass(frozen=True, slots=True)
class ProcessRuntimeContext:
    """The API, the machine and what was said already."""

    client: Client
    settings: ProcessSettings
    abilities: HostCapabilities
    devices: Devices
    sentry: TaskMonitorClient
    images: MutableMapping[str, None] = field(default_factory=dict)
    """Images of which it was said that they are not used."""

    def remove(self, places: PodDirectories) -> None:
        """Remove everything of a pod that has nothing running."""
        places.remove()
        if self.abilities.groups is not None:
            self.abilities.groups.forget(places.pod)

    def is_news(self, image: str) -> bool:
        """Whether an image is seen for the first time."""
        if image in self.images:
            return False
        if len(self.images) >= MOST_IMAGES:
            self.images.clear()
        self.images[image] = None
        return True
