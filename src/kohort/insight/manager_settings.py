"""The settings of the cluster's manager, from the ConfigMap with its Configuration."""

from dataclasses import dataclass, field
from typing import Final

from kohort.api.codec import Json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.errors import ApiError
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.resource import Resource
from kohort.api.unsupported import Notice
from kohort.engine.settings import EngineSettings
from kohort.insight.listing import IncompleteKind
from kohort.kube.client import Client
from kohort.kube.errors import StatusError

NAMESPACE: Final = "kueue-system"
NAME: Final = "kueue-manager-config"
FILE: Final = "controller_manager_config.yaml"
CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


@dataclass(frozen=True, slots=True)
class ObservedSettings:
    """The settings of the manager."""

    configuration: Configuration = field(default_factory=Configuration)
    gates: FeatureGates = DEFAULT_GATES
    unsupported: tuple[Notice, ...] = ()
    """Settings that have no effect in this version of Kohort."""
    unseen: IncompleteKind | None = None
    """Set if they could not be read, and defaults are assumed."""

    @property
    def settings(self) -> EngineSettings:
        """The settings of the engine."""
        return EngineSettings.of(self.configuration, self.gates)


async def read_manager_settings(client: Client) -> ObservedSettings:
    """The settings of the manager; defaults if they cannot be read."""
    try:
        found = await client.of(CONFIG_MAPS).get((NAMESPACE, NAME))
    except StatusError as error:
        if error.is_not_found:
            return ObservedSettings()
        if error.code == 403:
            return ObservedSettings(unseen=IncompleteKind("Configuration", str(error)))
        raise
    try:
        return _parse(found)
    except ApiError as error:
        return ObservedSettings(
            unseen=IncompleteKind("Configuration", f"ConfigMap {NAMESPACE}/{NAME}: {error}", code=422)
        )


def _parse(found: dict[str, Json]) -> ObservedSettings:
    # Imported on demand: local clusters mostly have no such file.
    from kohort.api.config.parsing import parse_configuration
    from kohort.api.documents import read_documents

    text = (found.get("data") or {}).get(FILE, "")
    documents = list(read_documents(text.encode(), FILE))
    if not documents:
        return ObservedSettings()
    result = parse_configuration(documents[0].value)
    if result.errors or result.config is None:
        raise ApiError("; ".join(map(str, result.errors)) or "no Configuration")
    return ObservedSettings(result.config, result.gates, tuple(result.unsupported))
