"""The settings by which the cluster's manager decides, read from where Kueue and Kohort keep their Configuration."""

from typing import Final

from kohort.api.codec import Json
from kohort.api.errors import ApiError
from kohort.api.resource import Resource
from kohort.engine.settings import Settings
from kohort.insight.reading import Unseen
from kohort.kube.client import Client
from kohort.kube.errors import StatusError

NAMESPACE: Final = "kueue-system"
NAME: Final = "kueue-manager-config"
FILE: Final = "controller_manager_config.yaml"
CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)


async def read_settings(client: Client) -> tuple[Settings, Unseen | None]:
    """What the manager was told; the defaults where that can't be read."""
    try:
        found = await client.of(CONFIG_MAPS).get((NAMESPACE, NAME))
    except StatusError as error:
        if error.is_not_found:
            return Settings(), None
        if error.code == 403:
            return Settings(), Unseen("Configuration", str(error))
        raise
    try:
        return _settings(found), None
    except ApiError as error:
        return Settings(), Unseen("Configuration", f"ConfigMap {NAMESPACE}/{NAME}: {error}", code=422)


def _settings(found: dict[str, Json]) -> Settings:
    # A cluster without this file, as most on a workstation are, never pays for reading YAML.
    from kohort.api.config.parsing import parse_configuration
    from kohort.api.documents import read_documents

    text = (found.get("data") or {}).get(FILE, "")
    documents = list(read_documents(text.encode(), FILE))
    if not documents:
        return Settings()
    result = parse_configuration(documents[0].value)
    if result.errors or result.config is None:
        raise ApiError("; ".join(map(str, result.errors)) or "no Configuration")
    return Settings.of(result.config, result.gates)
