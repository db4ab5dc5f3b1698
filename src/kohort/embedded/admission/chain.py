"""The admission chain: mutating, then validating plugins."""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, AdmissionPlugin


class AdmissionChain:
    """Plugins in order."""

    def __init__(self, plugins: Sequence[AdmissionPlugin] = ()) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The object after all mutating plugins."""
        for plugin in self._plugins:
            changed = await plugin.mutate(attributes)
            if changed is not None:
                attributes = attributes.changed(changed)
        return attributes.object

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raises the first denial, after releasing the reservations of the write."""
        try:
            for plugin in self._plugins:
                await plugin.validate(attributes)
        except BaseException:
            self.settle(attributes)
            raise

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """Runs the last checks; raises the first denial."""
        for plugin in self._plugins:
            plugin.confirm(attributes)

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Releases the plugins' reservations for a completed or failed write."""
        for plugin in self._plugins:
            plugin.settle(attributes)
