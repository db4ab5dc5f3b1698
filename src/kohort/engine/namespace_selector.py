"""Which namespaces a ClusterQueue admits Workloads from (SCH-124)."""

from typing import TYPE_CHECKING

from kohort.engine.records import ClusterQueueInfo

if TYPE_CHECKING:
    from kohort.engine.state.store import EngineStore


def is_selected(store: "EngineStore", queue: ClusterQueueInfo, namespace: str) -> bool:
    """Whether the namespaceSelector of a ClusterQueue selects a namespace."""
    labels = store.namespaces.get(namespace)
    return labels is not None and queue.namespaces is not None and queue.namespaces.matches(labels)
