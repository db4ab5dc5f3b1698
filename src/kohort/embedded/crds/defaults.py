"""Defaults of CustomResourceDefinitions."""

from collections.abc import Mapping
from typing import Any

from kohort.api.codec import Json

WEBHOOK_PORT = 443


def default_crd(crd: Mapping[str, Any]) -> dict[str, Json]:
    """The definition with defaults of names, conversion, webhook port and stored versions."""
    spec = crd.get("spec") or {}
    names = default_names(spec.get("names") or {})
    filled = {**spec, "names": names, "conversion": _conversion(spec.get("conversion"))}
    status = dict(crd.get("status") or {})
    if not status.get("storedVersions"):
        status["storedVersions"] = [each.get("name", "") for each in spec.get("versions") or () if each.get("storage")][
            :1
        ]
    return {**crd, "spec": filled, "status": status}


def default_names(names: Mapping[str, Any]) -> dict[str, Json]:
    """Singular and list kind, derived from the kind."""
    kind = str(names.get("kind") or "")
    filled = dict(names)
    if not filled.get("singular"):
        filled["singular"] = kind.lower()
    if kind and not filled.get("listKind"):
        filled["listKind"] = f"{kind}List"
    return filled


def _conversion(conversion: Mapping[str, Any] | None) -> dict[str, Json]:
    if not conversion:
        return {"strategy": "None"}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    service = client.get("service")
    if not service or "port" in service:
        return dict(conversion)
    client = {**client, "service": {**service, "port": WEBHOOK_PORT}}
    return {**conversion, "webhook": {**conversion["webhook"], "clientConfig": client}}
