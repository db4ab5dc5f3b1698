"""What a pod template's demand depends on besides the template: LimitRanges of its namespace and RuntimeClasses.

Merged once when one of them changes, so that reading a template needs lookups only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kohort.api.core.namespaces import LimitRange, LimitRangeItem
from kohort.api.core.nodes import RuntimeClass
from kohort.api.markers import ResourceList
from kohort.engine.requests.lists import ResourceAmounts, amounts_of, combined


@dataclass(frozen=True, slots=True)
class TypeLimits:
    """All items of one LimitRange type, merged (SCH-121), without ratios, which are not checked."""

    maximum: ResourceAmounts
    """The smallest `max`, in internal units."""
    minimum: ResourceAmounts
    """The largest `min`, in internal units."""
    default_limits: ResourceList
    default_requests: ResourceList

    @property
    def has_bounds(self) -> bool:
        """Whether any request can be out of range."""
        return bool(self.maximum or self.minimum)


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What the requests of workloads in a namespace depend on besides their specs.

    Equal by identity, because cached requests are keyed by it: a change needs a new one, and namespaces without
    differences, such as all without LimitRanges, share one.
    """

    container: TypeLimits
    pod: TypeLimits
    overheads: Mapping[str, ResourceList]
    """Pod overhead by RuntimeClass (SCH-120)."""

    @staticmethod
    def of(limit_ranges: Iterable[LimitRange], runtime_classes: Iterable[RuntimeClass]) -> "Environment":
        """Merge the LimitRanges of a namespace, in the order of their names, and the RuntimeClasses (SCH-121)."""
        ordered = sorted(limit_ranges, key=lambda limit_range: limit_range.metadata.name)
        items = [item for limit_range in ordered for item in limit_range.spec.limits]
        return Environment(
            container=_merged(items, "Container"),
            pod=_merged(items, "Pod"),
            overheads={each.metadata.name: each.overhead.pod_fixed for each in runtime_classes},
        )


def _merged(items: Iterable[LimitRangeItem], of_type: str) -> TypeLimits:
    merged = TypeLimits({}, {}, {}, {})
    for item in items:
        if item.type == of_type:
            merged = TypeLimits(
                maximum=combined(merged.maximum, amounts_of(item.max), min),
                minimum=combined(merged.minimum, amounts_of(item.min), max),
                default_limits={**item.default, **merged.default_limits},
                default_requests={**item.default_request, **merged.default_requests},
            )
    return merged
