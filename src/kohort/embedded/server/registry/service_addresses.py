"""Allocates cluster IPs and node ports of Services; nothing listens there, but clients expect them."""

from collections.abc import Iterable
from ipaddress import IPv4Address, ip_network
from zlib import crc32

from kohort.api.codec import JsonObject
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import Store
from kohort.kube.errors import StatusError

SERVICES = "services"
_ADDRESSES = ip_network("10.0.0.0/16")
_PORTS = range(30000, 32768)
_WITH_PORTS = ("NodePort", "LoadBalancer")


class ServiceAddresses:
    """Allocates unique addresses."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def complete(self, new: JsonObject, old: JsonObject | None, _: WriteOperation) -> JsonObject:
        """The service with cluster IP and node ports, which are kept over updates."""
        spec = dict(new.get("spec") or {})
        if spec.get("type") == "ExternalName":
            return new
        others = [each.object for each in self._store.list(SERVICES).entries]
        former = (old or {}).get("spec") or {}
        spec["clusterIP"] = spec.get("clusterIP") or former.get("clusterIP") or self._address(new, others)
        spec["clusterIPs"] = spec.get("clusterIPs") or [spec["clusterIP"]]
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if spec.get("type") in _WITH_PORTS and spec.get("allocateLoadBalancerNodePorts") is not False:
            spec["ports"] = self._ports(spec.get("ports") or (), former.get("ports") or (), others)
        return {**new, "spec": spec}

    def _address(self, service: JsonObject, others: Iterable[JsonObject]) -> str:
        taken = {(each.get("spec") or {}).get("clusterIP") for each in others}
        size = _ADDRESSES.num_addresses - 2
        start = crc32(service["metadata"]["uid"].encode()) % size
        for step in range(size):
            address = str(IPv4Address(int(_ADDRESSES.network_address) + 1 + (start + step) % size))
            if address not in taken:
                return address
        raise StatusError(500, "InternalError", "failed to allocate IP for Service: range is full")

    def _ports(
        self, ports: Iterable[JsonObject], former: Iterable[JsonObject], others: Iterable[JsonObject]
    ) -> list[JsonObject]:
        kept = {(each.get("port"), each.get("protocol")): each.get("nodePort") for each in former}
        taken = {port.get("nodePort") for each in others for port in (each.get("spec") or {}).get("ports") or ()}
        given = []
        for port in ports:
            number = port.get("nodePort") or kept.get((port.get("port"), port.get("protocol")))
            number = number or next((each for each in _PORTS if each not in taken), None)
            if number is None:
                raise StatusError(500, "InternalError", "failed to allocate a nodePort: range is full")
            taken.add(number)
            given.append({**port, "nodePort": number})
        return given
