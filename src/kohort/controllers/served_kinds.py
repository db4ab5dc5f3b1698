"""Which kinds the API server serves: those of Kubernetes, and custom ones with a CustomResourceDefinition (JOB-95)."""

from collections.abc import Callable
from enum import Enum

from kohort.api.core.definitions import CustomResourceDefinition
from kohort.api.resource import Resource
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.rest_mapper import known_resource


class KindAvailability(Enum):
    """Whether objects of a kind can be listed and watched."""

    SERVED = "served"
    UNSERVED = "not served"
    """Its definition is not established yet, or does not serve the version: objects may exist."""
    ABSENT = "absent"
    """It has no definition, and thus no objects."""


class ServedKinds:
    """The availability of kinds, kept up to date by a watch of CustomResourceDefinitions."""

    def __init__(self, informers: SharedInformerFactory) -> None:
        self._definitions: Informer[CustomResourceDefinition] = informers.of(CustomResourceDefinition)

    @property
    def is_synced(self) -> bool:
        """Whether the definitions are known."""
        return self._definitions.synced

    async def wait_for_sync(self) -> None:
        """Wait until the definitions are known."""
        await self._definitions.wait_for_sync()

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Call a function after each change of a definition."""
        self._definitions.subscribe(lambda _old, _new: handler())

    def availability(self, resource: Resource) -> KindAvailability:
        """Whether a kind is served."""
        if is_kubernetes_kind(resource):
            return KindAvailability.SERVED
        found = self._definitions.cache.get(("", definition_name(resource)))
        if found is None:
            return KindAvailability.ABSENT
        return KindAvailability.SERVED if _serves(found, resource.version) else KindAvailability.UNSERVED


def is_kubernetes_kind(resource: Resource) -> bool:
    """Whether every API server serves the kind."""
    return known_resource(resource.api_version, resource.kind) is not None


def definition_name(resource: Resource) -> str:
    """The name of a kind's CustomResourceDefinition."""
    return f"{resource.plural}.{resource.group}"


def _serves(definition: CustomResourceDefinition, version: str) -> bool:
    is_established = any(each.type == "Established" and each.status == "True" for each in definition.status.conditions)
    return is_established and any(each.name == version and each.served for each in definition.spec.versions)
