"""The configuration's rules between the requests of a pod and the amounts counted against quota (SCH-130, SCH-131).

Compiled once. A transformation multiplies up to three quantities of whole billionths, so its products are exact whole
numbers of a smaller unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.config.common import CommonResources, ResourceTransformation
from kohort.api.quantity import NANO
from kohort.engine.requests.lists import Nanos, amounts_from, nanos_of

_PRODUCT = NANO * NANO
"""Steps of a product (input, multiplier, factor) in one billionth."""


@dataclass(frozen=True, slots=True)
class Transformation:
    """What one requested resource becomes (SCH-131)."""

    factors: Mapping[str, int]
    """Billionths of each output per unit of input."""
    multiplier: str
    """The resource whose request multiplies the input; empty for none."""
    keeps_input: bool

    @staticmethod
    def of(settings: ResourceTransformation) -> "Transformation":
        """Read one entry of `resources.transformations`."""
        return Transformation(
            factors=nanos_of(settings.outputs),
            multiplier=settings.multiply_by,
            keeps_input=settings.strategy != "Replace",
        )


@dataclass(frozen=True, slots=True, eq=False)
class RequestRules:
    """Which requests count against quota, and as what; by default all, as they are. Equal by identity."""

    excluded: tuple[str, ...] = ()
    """Resources whose names begin so do not count (SCH-130)."""
    transformations: Mapping[str, Transformation] = field(default_factory=dict)
    """By input (SCH-131)."""

    @staticmethod
    def of(settings: CommonResources) -> "RequestRules":
        """Compile the `resources` section of a configuration."""
        return RequestRules(
            excluded=settings.exclude_resource_prefixes,
            transformations={each.input: Transformation.of(each) for each in settings.transformations},
        )

    def per_pod(self, request: Nanos) -> dict[str, int]:
        """The counted amounts of a pod with this request, in internal units (SCH-130, SCH-131, SCH-113)."""
        counted = {name: value for name, value in request.items() if not name.startswith(self.excluded)}
        if not self.transformations.keys().isdisjoint(counted):
            counted = self._transformed(counted)
        return amounts_from(counted)

    def _transformed(self, request: Nanos) -> Nanos:
        result: Nanos = {}
        products: dict[str, int] = {}
        for name, value in request.items():
            rule = self.transformations.get(name)
            if rule is None or rule.keeps_input:
                result[name] = value
            if rule is not None:
                _add_products(products, rule, value * request.get(rule.multiplier, NANO))
        for name, product in products.items():
            # Rounding up here and again to internal units is the same as rounding up once.
            result[name] = result.get(name, 0) + max(0, -(-product // _PRODUCT))
        return result


def _add_products(products: dict[str, int], rule: Transformation, value: int) -> None:
    for name, factor in rule.factors.items():
        products[name] = products.get(name, 0) + value * factor
