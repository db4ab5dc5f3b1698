"""IP addresses and CIDRs."""

import ipaddress
from dataclasses import dataclass
from typing import ClassVar

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.values import Opaque

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class Ip(Opaque):
    """An IPv4 or IPv6 address."""

    type_name: ClassVar[str] = "net.IP"
    address: _Address


@dataclass(frozen=True, slots=True)
class Cidr(Opaque):
    """An address with a prefix length."""

    type_name: ClassVar[str] = "net.CIDR"
    interface: Network


def _parse_ip(text: str) -> Ip:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise EvaluationError(f'IP Address "{text}" parse error during conversion from string') from None
    if "%" in text:
        raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return Ip(address)


def _parse_cidr(text: str) -> Cidr:
    address, _, length = text.partition("/")
    try:
        found = Cidr(ipaddress.ip_interface(text))
    except ValueError:
        raise EvaluationError("network address parse error during conversion from string") from None
    if length != str(found.interface.network.prefixlen):
        raise EvaluationError("network address parse error during conversion from string")
    _parse_ip(address)
    return found


def _is_ip(text: str) -> bool:
    try:
        _parse_ip(text)
    except EvaluationError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _parse_cidr(text)
    except EvaluationError:
        return False
    return True


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    is_broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (special or is_broadcast)


def _is_link_local_multicast(ip: Ip) -> bool:
    address = ip.address
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


function("ip", str)(_parse_ip)
function("isIP", str)(_is_ip)
function("ip.isCanonical", str)(lambda text: str(_parse_ip(text).address) == text)
function("string", Ip)(lambda ip: str(ip.address))
method("family", Ip)(lambda ip: ip.address.version)
method("isUnspecified", Ip)(lambda ip: ip.address.is_unspecified)
method("isLoopback", Ip)(lambda ip: ip.address.is_loopback)
method("isLinkLocalUnicast", Ip)(lambda ip: ip.address.is_link_local)
method("isLinkLocalMulticast", Ip)(_is_link_local_multicast)
method("isGlobalUnicast", Ip)(_is_global_unicast)


def _contains(cidr: Cidr, address: _Address) -> bool:
    return address.version == cidr.interface.version and address in cidr.interface.network


def _contains_network(cidr: Cidr, other: Cidr) -> bool:
    is_longer = other.interface.network.prefixlen >= cidr.interface.network.prefixlen
    return is_longer and _contains(cidr, other.interface.network.network_address)


function("cidr", str)(_parse_cidr)
function("isCIDR", str)(_is_cidr)
function("string", Cidr)(lambda cidr: str(cidr.interface))
method("containsIP", Cidr, Ip)(lambda cidr, ip: _contains(cidr, ip.address))
method("containsIP", Cidr, str)(lambda cidr, text: _contains(cidr, _parse_ip(text).address))
method("containsCIDR", Cidr, Cidr)(_contains_network)
method("containsCIDR", Cidr, str)(lambda cidr, text: _contains_network(cidr, _parse_cidr(text)))
method("ip", Cidr)(lambda cidr: Ip(cidr.interface.ip))
method("prefixLength", Cidr)(lambda cidr: cidr.interface.network.prefixlen)
method("masked", Cidr)(lambda cidr: Cidr(ipaddress.ip_interface(str(cidr.interface.network))))
