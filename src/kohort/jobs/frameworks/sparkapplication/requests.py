"""Requests and limits of the Spark container of a role, in Kubernetes' units (JOB-141, DEV-4)."""

from collections.abc import Callable
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.quantity import NANO, Quantity, QuantityError
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.objects import annotations

ACCOUNTING_ANNOTATION: Final = "kohort.dev/include-cores-and-overhead"
"""With value true, requests include what Spark adds to `coreRequest` and `memory` (DEV-4)."""
RULE: Final = "JOB-141"
_JVM_UNITS: Final = "kmgtp"
_MEBIBYTE: Final = 2**20 * NANO
_LEAST_OVERHEAD: Final = 384
_OVERHEAD_FACTORS: Final = {"Python": "0.4", "R": "0.4"}
"""By type of application; code outside the JVM needs more."""
_JVM_FACTOR: Final = "0.1"

Parse = Callable[[str], Quantity]


def memory_quantity(text: str) -> Quantity:
    """An amount of memory with a unit of the JVM (`2g`, `512mb`) or of Kubernetes; raises QuantityError."""
    shortened = text[:-1] if text[-2:-1].lower() in (*_JVM_UNITS,) and text[-1:] in "bB" else text
    unit = shortened[-1:].lower()
    return Quantity.parse(f"{shortened[:-1]}{unit.upper()}i" if unit in (*_JVM_UNITS,) else text)


def overhead_quantity(text: str) -> Quantity:
    """An amount of memory, in MiB if it has no unit; raises QuantityError."""
    return memory_quantity(f"{text}m" if text.isdecimal() else text)


AMOUNTS: Final[dict[str, Parse]] = {
    "coreRequest": Quantity.parse,
    "coreLimit": Quantity.parse,
    "memory": memory_quantity,
    "memoryLimit": memory_quantity,
    "memoryOverhead": overhead_quantity,
}
"""Fields of a role that have amounts."""


def amount_error(role: JsonObject, name: str, path: Path) -> FieldError | None:
    """The error of a field that has no amount."""
    text = role.get(name)
    try:
        found = AMOUNTS[name](text) if text else None
    except QuantityError:
        return invalid(path / name, text, "is no amount: write one such as 2, 500m or, of memory, 2g", RULE)
    if found is not None and found.nanos < 0:
        return invalid(path / name, text, "must not be negative", RULE)
    return None


def container_resources(obj: JsonObject, role: JsonObject, path: Path) -> JsonObject:
    """The resources of the Spark container of a role; raises InvalidFieldError."""
    includes_all = annotations(obj).get(ACCOUNTING_ANNOTATION) == "true"
    cpu, memory = _amount(role, "coreRequest", path), _amount(role, "memory", path)
    if includes_all:
        cpu = cpu or Quantity.parse(role.get("cores") or 1)
        memory = _with_overhead(memory or memory_quantity("1g"), obj, role, path)
    requests = {"cpu": cpu, "memory": memory}
    limits = {"cpu": _amount(role, "coreLimit", path), "memory": _amount(role, "memoryLimit", path), **_gpus(role)}
    found = {"requests": _texts(requests), "limits": _texts(limits)}
    return {name: amounts for name, amounts in found.items() if amounts}


def _amount(role: JsonObject, name: str, path: Path) -> Quantity | None:
    error = amount_error(role, name, path)
    if error is not None:
        raise InvalidFieldError(error)
    text = role.get(name)
    return AMOUNTS[name](text) if text else None


def _with_overhead(memory: Quantity, obj: JsonObject, role: JsonObject, path: Path) -> Quantity:
    """The memory with that outside the heap, in MiB as Spark computes it."""
    whole = memory.in_units(_MEBIBYTE)
    overhead = _amount(role, "memoryOverhead", path)
    if overhead is not None:
        added = overhead.in_units(_MEBIBYTE)
    else:
        added = max(-(-whole * _factor(obj).nanos // NANO), _LEAST_OVERHEAD)
    return Quantity.parse(f"{whole + added}Mi")


def _factor(obj: JsonObject) -> Quantity:
    """The part of the memory that is added."""
    spec = obj.get("spec") or {}
    text = spec.get("memoryOverheadFactor") or _OVERHEAD_FACTORS.get(spec.get("type") or "", _JVM_FACTOR)
    try:
        return Quantity.parse(text)
    except QuantityError:
        return Quantity.parse(_JVM_FACTOR)


def _gpus(role: JsonObject) -> dict[str, Quantity]:
    gpu = role.get("gpu") or {}
    name, quantity = gpu.get("name"), gpu.get("quantity") or 0
    return {name: Quantity.parse(quantity)} if name and quantity > 0 else {}


def _texts(amounts: dict[str, Quantity | None]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items() if amount is not None}
