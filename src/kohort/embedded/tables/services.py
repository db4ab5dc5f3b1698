"""Rows of services."""

from datetime import datetime

from kohort.api.codec import JsonMapping
from kohort.embedded.tables.cells import (
    NONE,
    Cells,
    TableLayout,
    age,
    dig,
    labels_text,
    layout,
    name_of,
)

_UNKNOWN = "<unknown>"


def _service(service: JsonMapping, now: datetime) -> Cells:
    spec = service.get("spec") or {}
    inside = (spec.get("clusterIPs") or [spec.get("clusterIP") or NONE])[0]
    ports = ",".join(_service_port(port) for port in spec.get("ports") or ()) or NONE
    kind = spec.get("type", "")
    return (
        name_of(service),
        kind,
        inside,
        _outside(service, kind),
        ports,
        age(service, now),
        labels_text(spec.get("selector")),
    )


def _service_port(port: JsonMapping) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _outside(service: JsonMapping, kind: str) -> str:
    given = dig(service, "spec", "externalIPs") or []
    match kind:
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            return ",".join([*_balancers(service), *given]) or "<pending>"
        case "ExternalName":
            return str(dig(service, "spec", "externalName") or "")
    return _UNKNOWN


def _balancers(obj: JsonMapping) -> list[str]:
    found = dig(obj, "status", "loadBalancer", "ingress") or ()
    return sorted({one.get("ip") or one.get("hostname") or "" for one in found} - {""})


SERVICES: dict[str, TableLayout] = {
    "services": layout("Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", _service),
}
