"""An engine that is fed with plain objects."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from kohort.api.codec import from_json
from kohort.api.core.namespaces import Namespace
from kohort.api.kinds import kind_of
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Workload
from kohort.api.meta import ObjectMeta
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
Object = dict[str, Any]


class EngineFixture:
    """An engine that receives objects as from an API server: with uid, time and generation."""

    def __init__(self) -> None:
        self.engine = Engine()
        self._numbers = count(1)
        self._objects: dict[tuple[str, str], Object] = {}

    def put(self, found: Object) -> None:
        """Apply an object and run the scheduler."""
        number = next(self._numbers)
        now = NOON + timedelta(seconds=number)
        metadata = {"uid": f"uid-{number:06}", "creationTimestamp": now, "generation": 1} | found["metadata"]
        full = found | {"metadata": metadata}
        self._objects[found["kind"], metadata["name"]] = full
        kind = kind_of(found["apiVersion"], found["kind"])
        assert kind is not None
        assert issubclass(kind, ClusterQueue | LocalQueue | ResourceFlavor | Workload)
        self.engine.apply(ObjectUpserted(from_json(full, kind)), now)
        self.engine.schedule(now)

    def patch_spec(self, kind: str, name: str, **spec: Any) -> None:
        """Change members of a spec."""
        found = self._objects[kind, name]
        self.put(found | {"spec": found["spec"] | spec})

    def namespace(self, name: str) -> None:
        """Apply a namespace."""
        self.engine.apply(ObjectUpserted(Namespace(metadata=ObjectMeta(name=name))), NOON)
