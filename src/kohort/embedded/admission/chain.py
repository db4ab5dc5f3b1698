"""The admission chain: every plugin may change a write, then every plugin may refuse it."""

from collections.abc import Sequence
from dataclasses import replace

from kohort.embedded.admission.attributes import Attributes, Object, Plugin


class Chain:
    """Plugins in their order."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: Attributes) -> Object | None:
        """The object after all plugins had their say."""
        for plugin in self._plugins:
            changed = await plugin.mutate(attributes)
            if changed is not None:
                attributes = replace(attributes, object=changed)
        return attributes.object

    async def validate(self, attributes: Attributes) -> None:
        """Raises the first refusal."""
        for plugin in self._plugins:
            await plugin.validate(attributes)
