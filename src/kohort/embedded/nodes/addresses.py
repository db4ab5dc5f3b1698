"""Pod IPs for pods without a network of their own: unique per pod, so that tools can distinguish pods.

Each node has a block recorded in its `spec.podCIDR`, so that independent agents never assign the same address.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from zlib import crc32

_SPACE = IPv4Network("10.128.0.0/9")
_UNIT = 64
"""Number of addresses of the smallest block."""
_UNITS = _SPACE.num_addresses // _UNIT


class PodCidrAllocator:
    """The address space of all pods and the blocks assigned to nodes."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken: set[int] = set()
        for text in taken:
            self._taken.update(_units(text))

    def pick(self, node: str, pods: int) -> str:
        """A free block for this number of pods; the search starts at a hash of the node's name.

        Concurrent agents thus pick different blocks. When all are taken, nodes share blocks.
        """
        size = max(_UNIT, 1 << (pods + 1).bit_length())
        units = min(size // _UNIT, _UNITS)
        places = _UNITS // units
        start = crc32(node.encode()) % places
        for step in range(places):
            first = (start + step) % places * units
            if self._taken.isdisjoint(range(first, first + units)):
                break
        else:
            first = start * units
        self._taken.update(range(first, first + units))
        return str(IPv4Network((int(_SPACE.network_address) + first * _UNIT, 32 - (units * _UNIT).bit_length() + 1)))


def read_block(text: str) -> IPv4Network | IPv6Network | None:
    """The block of a node; None if it is missing or invalid."""
    try:
        return ip_network(text, strict=False) if text else None
    except ValueError:
        return None


def _units(text: str) -> range:
    """The units of the address space that a block covers."""
    block = read_block(text)
    if not isinstance(block, IPv4Network) or not block.overlaps(_SPACE):
        return range(0)
    first = max(int(block.network_address) - int(_SPACE.network_address), 0)
    last = min(int(block.broadcast_address), int(_SPACE.broadcast_address)) - int(_SPACE.network_address)
    return range(first // _UNIT, last // _UNIT + 1)


class _Block:
    """The addresses of one node."""

    __slots__ = ("_last", "_network", "_used")

    def __init__(self, text: str) -> None:
        self._network = ip_network(text, strict=False)
        self._used: set[str] = set()
        self._last = 0

    def allocate(self) -> str:
        """The next free address; if none is free, one that is in use."""
        most = max(self._network.num_addresses - 2, 1)
        for _ in range(min(len(self._used), most) + 1):
            self._last = self._last % most + 1
            address = str(self._network[self._last])
            if address not in self._used:
                break
        self._used.add(address)
        return address

    def hold(self, address: str) -> None:
        self._used.add(address)

    def free(self, address: str) -> None:
        self._used.discard(address)


class PodIpAllocator:
    """Assigns addresses from the blocks of the nodes."""

    needs_blocks = True

    def __init__(self) -> None:
        self._blocks: dict[str, _Block] = {}

    def settle(self, node: str, block: str) -> None:
        """Sets the block of a node."""
        self._blocks[node] = _Block(block)

    def allocate(self, node: str, current: str) -> str:
        """The address that a pod already has, or a new one."""
        block = self._blocks[node]
        if not current:
            return block.allocate()
        block.hold(current)
        return current

    def free(self, node: str, address: str) -> None:
        """Releases an address."""
        self._blocks[node].free(address)


class HostAddress(PodIpAllocator):
    """Assigns the host's address to all pods: processes of the host are reachable there."""

    needs_blocks = False

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__()
        self._address = address

    def allocate(self, node: str, current: str) -> str:
        """The host's address."""
        return current or self._address

    def free(self, node: str, address: str) -> None:
        """Does nothing."""
