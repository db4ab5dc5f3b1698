"""LimitRanges and RuntimeClasses: default requests of pods (SCH-120, SCH-121)."""

from kohort.api.core.namespaces import LimitRange
from kohort.api.core.nodes import RuntimeClass
from kohort.api.meta import ObjectKey
from kohort.engine.requests.environment import Environment


class EnvironmentCache:
    """The environment of each namespace, merged once and shared by namespaces without differences."""

    def __init__(self) -> None:
        self._limit_ranges: dict[str, dict[str, LimitRange]] = {}
        self._runtime_classes: dict[str, RuntimeClass] = {}
        self._merged: dict[str, Environment] = {}
        self._plain = Environment.of((), ())

    def of(self, namespace: str) -> Environment:
        """The environment of a namespace; the same object until something changes."""
        environment = self._merged.get(namespace)
        if environment is None:
            ranges = self._limit_ranges.get(namespace)
            environment = Environment.of(ranges.values(), self._runtime_classes.values()) if ranges else self._plain
            self._merged[namespace] = environment
        return environment

    def put_limit_range(self, limit_range: LimitRange) -> None:
        """Apply a new or changed LimitRange."""
        metadata = limit_range.metadata
        self._limit_ranges.setdefault(metadata.namespace, {})[metadata.name] = limit_range
        self._merged.pop(metadata.namespace, None)

    def remove_limit_range(self, key: ObjectKey) -> None:
        """Remove a deleted LimitRange."""
        self._limit_ranges.get(key.namespace, {}).pop(key.name, None)
        self._merged.pop(key.namespace, None)

    def put_runtime_class(self, runtime_class: RuntimeClass) -> None:
        """Apply a new or changed RuntimeClass."""
        self._runtime_classes[runtime_class.metadata.name] = runtime_class
        self._merge_anew()

    def remove_runtime_class(self, name: str) -> None:
        """Remove a deleted RuntimeClass."""
        self._runtime_classes.pop(name, None)
        self._merge_anew()

    def _merge_anew(self) -> None:
        self._merged.clear()
        self._plain = Environment.of((), self._runtime_classes.values())
