"""The connection of a manager that can crash: nothing that it has not sent yet reaches the server afterwards."""

import asyncio
from math import inf

from kit.faults import FaultInjectingTransport
from kohort.kube.clock import Clock
from kohort.kube.transport import Transport


class ManagerTransport(FaultInjectingTransport):
    """The connection of a manager that crashes at one of its writes; subclasses define what counts as a write."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        super().__init__(inner, clock)
        self.crash_after = inf
        """Number of writes that reach the server."""
        self.is_crashed = False

    async def unless_crashed(self) -> None:
        """Return at once, or never if the process has crashed."""
        if self.is_crashed:
            await asyncio.Event().wait()
