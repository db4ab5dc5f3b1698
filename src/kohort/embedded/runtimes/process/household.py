"""What all pods of a process runtime share."""

from collections.abc import MutableMapping
from dataclasses import dataclass, field

from kohort.embedded.runtimes.devices import Devices
from kohort.embedded.runtimes.process.abilities import Abilities
from kohort.embedded.runtimes.process.scratch import Places
from kohort.embedded.runtimes.process.sentry import Sentry
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.kube.client import Client

MOST_IMAGES = 10_000


@dataclass(frozen=True, slots=True)
class Household:
    """The API, the machine and what was said already."""

    client: Client
    settings: ProcessSettings
    abilities: Abilities
    devices: Devices
    sentry: Sentry
    images: MutableMapping[str, None] = field(default_factory=dict)
    """Images of which it was said that they are not used."""

    def remove(self, places: Places) -> None:
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
