"""Addresses for pods that have no network of their own: each another one, so that tools can tell pods apart."""

from itertools import count


class PodAddresses:
    """One address after the other out of 10.128.0.0/9, which holds eight million."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def next(self) -> str:
        """An address that no pod of this agent has had for a long time."""
        number = next(self._numbers) % 2**23
        return f"10.{128 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


class HostAddress(PodAddresses):
    """The host's address for all pods: what runs as a process of the host is reached there."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__()
        self._address = address

    def next(self) -> str:
        """The host's."""
        return self._address
