"""What the engine knows, floor by floor: facts, accounts, waiting, holding, workloads, queues, events."""

from kohort.engine.state.facts import LocalQueue
from kohort.engine.state.state import State

__all__ = ["LocalQueue", "State"]
