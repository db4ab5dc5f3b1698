"""Resolves a Service to the address of an endpoint, or to its external name.

There is no cluster network, so the address is that of the endpoints, usually a port on this machine.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.embedded.storage import StorageKey, Store

_SLICES = "endpointslices.discovery.k8s.io"
_OF_SERVICE = "kubernetes.io/service-name"


class ServiceResolver:
    """Resolves Services to addresses."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def resolve(self, namespace: str, name: str, port: int) -> str | None:
        """`host:port` behind a service port; None without endpoints."""
        service = self._object("services", namespace, name)
        spec = (service or {}).get("spec") or {}
        if spec.get("type") == "ExternalName":
            return f"{spec.get('externalName')}:{port}"
        wanted = _port_name(spec, port)
        return next(self._addresses(namespace, name, wanted), None)

    def _object(self, resource: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        found = self._store.get(StorageKey(resource, namespace, name))
        return found.object if found else None

    def _addresses(self, namespace: str, name: str, port: str | None) -> Iterator[str]:
        for entry in self._store.list(_SLICES, namespace).entries:
            if (entry.object["metadata"].get("labels") or {}).get(_OF_SERVICE) == name:
                yield from _slice_addresses(entry.object, port)
        endpoints = self._object("endpoints", namespace, name) or {}
        for subset in endpoints.get("subsets") or ():
            hosts = [address["ip"] for address in subset.get("addresses") or ()]
            yield from _joined(hosts, subset.get("ports") or (), port)


def _slice_addresses(found: Mapping[str, Any], port: str | None) -> Iterator[str]:
    for endpoint in found.get("endpoints") or ():
        if (endpoint.get("conditions") or {}).get("ready") is not False:
            yield from _joined(endpoint.get("addresses") or (), found.get("ports") or (), port)


def _joined(hosts: Any, ports: Any, wanted: str | None) -> Iterator[str]:
    for host in hosts:
        for port in ports:
            if wanted is None or (port.get("name") or "") == wanted:
                yield f"[{host}]:{port['port']}" if ":" in host else f"{host}:{port['port']}"


def _port_name(spec: Mapping[str, Any], port: int) -> str | None:
    """The endpoint port name of a service port; None when any port matches."""
    ports = spec.get("ports") or ()
    chosen = next((each for each in ports if each.get("port") == port), None)
    return (chosen.get("name") or "") if chosen is not None and len(ports) > 1 else None
