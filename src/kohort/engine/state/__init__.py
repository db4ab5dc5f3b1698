"""What the engine knows, floor by floor: facts, accounts, waiting, holding, workloads, queues, events."""

from kohort.engine.state.base import LocalQueueInfo
from kohort.engine.state.engine_state import EngineState

__all__ = ["EngineState", "LocalQueueInfo"]
