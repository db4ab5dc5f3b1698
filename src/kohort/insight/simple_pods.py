"""Requests of simple pods, whose containers have only requests. Most pods are simple, and no engine is imported.

Pods with init containers, limits, overhead or pod-level resources are left to `requested_resources`.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from kohort.api.amounts import format_amount, multiply, to_amount
from kohort.api.errors import ApiError
from kohort.api.quantity import Notation, Quantity

CACHE_SIZE: Final = 1024

_Amounts = dict[str, str | int | float]


class _Resources(msgspec.Struct):
    requests: _Amounts = {}
    limits: _Amounts = {}


class _Container(msgspec.Struct):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _Spec(msgspec.Struct, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[msgspec.Raw] = []
    overhead: msgspec.Raw | None = None
    resources: msgspec.Raw | None = None
    resource_claims: list[msgspec.Raw] = []
    runtime_class_name: str = ""

    @property
    def is_simple(self) -> bool:
        """Whether the requests are the sum over containers."""
        special = self.init_containers or self.resource_claims or self.runtime_class_name
        bounded = any(each.resources.limits.keys() - each.resources.requests.keys() for each in self.containers)
        return not special and not bounded and self.overhead is None and self.resources is None


class _Template(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


@lru_cache(maxsize=CACHE_SIZE)
def simple_request(template: bytes, count: int) -> Mapping[str, str] | None:
    """Requests of `count` pods of this template; None if it is not simple."""
    try:
        spec = msgspec.json.decode(template, type=_Template).spec
        if not spec.is_simple:
            return None
        total: dict[str, int] = {}
        for container in spec.containers:
            for name, quantity in container.resources.requests.items():
                total[name] = total.get(name, 0) + Quantity.parse(quantity).nanos
    except (msgspec.MsgspecError, ApiError):
        return None
    return {name: _times(name, nanos, count) for name, nanos in total.items()}


def _times(name: str, nanos: int, count: int) -> str:
    """The total of all pods; rounded per pod, after summing up its containers."""
    per_pod = to_amount(name, Quantity(nanos, Notation.DECIMAL_SI))
    return format_amount(name, multiply(per_pod, count))
