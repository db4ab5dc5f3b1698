"""The admission chain: every plugin may change a write, then every plugin may refuse it."""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, AdmissionPlugin


class AdmissionChain:
    """Plugins in their order."""

    def __init__(self, plugins: Sequence[AdmissionPlugin] = ()) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The object after all plugins had their say."""
        for plugin in self._plugins:
            changed = await plugin.mutate(attributes)
            if changed is not None:
                attributes = attributes.changed(changed)
        return attributes.object

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raises the first refusal; what was set aside for the write is then free again."""
        try:
            for plugin in self._plugins:
                await plugin.validate(attributes)
        except BaseException:
            self.settle(attributes)
            raise

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """The last question, when all waiting is over; raises the first refusal."""
        for plugin in self._plugins:
            plugin.confirm(attributes)

    def settle(self, attributes: AdmissionAttributes) -> None:
        """The write is through, or failed: plugins let go of what they set aside for it."""
        for plugin in self._plugins:
            plugin.settle(attributes)
