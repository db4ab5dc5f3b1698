"""Addresses for pods that have no network of their own: each another one, so that tools can tell pods apart.

A node has a block of them, which stands in its `spec.podCIDR`: agents that know nothing of each other never give the
same address twice.
"""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from zlib import crc32

_SPACE = IPv4Network("10.128.0.0/9")
_UNIT = 64
"""Addresses of the smallest block."""
_UNITS = _SPACE.num_addresses // _UNIT


class PodCidrAllocator:
    """The space of all pods, and which parts of it nodes have."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken: set[int] = set()
        for text in taken:
            self._taken.update(_units(text))

    def pick(self, node: str, pods: int) -> str:
        """A block that nobody has, with room for so many pods; where to begin to look is told by the node's name.

        Who looks at the same time thus finds another one. When all are taken, nodes have to share.
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
    """The block that a node has; None where it has none, or nothing that can be read as one."""
    try:
        return ip_network(text, strict=False) if text else None
    except ValueError:
        return None


def _units(text: str) -> range:
    """The parts of the space that a block covers."""
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

    def give(self) -> str:
        """The next address that no pod has; one that a pod has where there is no other."""
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
    """Addresses out of the blocks of their nodes, each for one pod at a time."""

    needs_blocks = True

    def __init__(self) -> None:
        self._blocks: dict[str, _Block] = {}

    def settle(self, node: str, block: str) -> None:
        """Give addresses of this block to pods of the node."""
        self._blocks[node] = _Block(block)

    def give(self, node: str, held: str) -> str:
        """The address that a pod holds, or one for a pod that has none."""
        block = self._blocks[node]
        if not held:
            return block.give()
        block.hold(held)
        return held

    def free(self, node: str, address: str) -> None:
        """Another pod may have the address now."""
        self._blocks[node].free(address)


class HostAddress(PodIpAllocator):
    """The host's address for all pods: what runs as a process of the host is reached there."""

    needs_blocks = False

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__()
        self._address = address

    def give(self, node: str, held: str) -> str:
        """The host's."""
        return held or self._address

    def free(self, node: str, address: str) -> None:
        """It stays the host's."""
