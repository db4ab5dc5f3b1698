"""Quality of service class of a pod."""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.quantity import Quantity

_DECISIVE = ("cpu", "memory")


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`, by CPU and memory."""
    asked = list(_asked(spec))
    if not any(requests or limits for requests, limits in asked):
        return "BestEffort"
    guaranteed = all(requests == limits and len(limits) == len(_DECISIVE) for requests, limits in asked)
    return "Guaranteed" if guaranteed else "Burstable"


_Amounts = dict[str, Quantity]


def _asked(spec: Mapping[str, Any]) -> Iterator[tuple[_Amounts, _Amounts]]:
    """Requests and limits at pod level, else of each container."""
    whole = spec.get("resources") or {}
    if whole.get("requests") or whole.get("limits"):
        yield _decisive(whole.get("requests")), _decisive(whole.get("limits"))
        return
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        yield _decisive(resources.get("requests")), _decisive(resources.get("limits"))


def _decisive(amounts: Mapping[str, Any] | None) -> _Amounts:
    read = {name: Quantity.parse(amounts[name]) for name in _DECISIVE if name in (amounts or {})} if amounts else {}
    return {name: amount for name, amount in read.items() if amount.nanos}
