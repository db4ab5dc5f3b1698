"""Rows of services and endpoints."""

from datetime import datetime

from kohort.api.codec import JsonMapping
from kohort.embedded.tables.cells import (
    NONE,
    UNSET,
    Cells,
    TableLayout,
    age,
    dig,
    first_few,
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


def _endpoints(obj: JsonMapping, now: datetime) -> Cells:
    found = [text for subset in obj.get("subsets") or () for text in _addresses(subset)]
    return (name_of(obj), first_few(found), age(obj, now))


def _addresses(subset: JsonMapping) -> list[str]:
    addresses = [one.get("ip", "") for one in subset.get("addresses") or ()]
    ports = subset.get("ports") or ()
    return [f"{address}:{port.get('port', 0)}" for port in ports for address in addresses] if ports else addresses


def _endpoint_slice(obj: JsonMapping, now: datetime) -> Cells:
    ports = [str(port.get("port") or port.get("name") or "*") for port in obj.get("ports") or ()]
    addresses = [address for one in obj.get("endpoints") or () for address in one.get("addresses") or ()]
    shown = tuple(first_few(texts) if texts else UNSET for texts in (ports, addresses))
    return (name_of(obj), obj.get("addressType", ""), *shown, age(obj, now))


TRAFFIC: dict[str, TableLayout] = {
    "endpoints": layout("Name|Endpoints|Age", _endpoints),
    "endpointslices.discovery.k8s.io": layout("Name|AddressType|Ports|Endpoints|Age", _endpoint_slice),
    "services": layout("Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", _service),
}
