"""Validation of resources.deviceClassMappings: device classes, their resources and sources."""

import re
from collections.abc import Iterable, Iterator

from kohort.api.config.v1beta2 import CapacitySource, CounterSource, DeviceClassMapping, DeviceClassSource
from kohort.api.fields import FieldError, Path, forbidden, invalid, required
from kohort.api.gates import FeatureGates, Gate
from kohort.api.names import check_qualified_name

_MAPPINGS = Path("resources") / "deviceClassMappings"


def mapping_errors(mappings: tuple[DeviceClassMapping, ...], gates: FeatureGates) -> Iterator[FieldError]:
    """Errors of the mappings beyond the schema."""
    for index, mapping in enumerate(mappings):
        path = _MAPPINGS[index]
        yield from _name_errors(mapping, path)
        yield from _source_errors(mapping.sources, gates, path / "sources")
    yield from _shared_classes(mappings)


def _name_errors(mapping: DeviceClassMapping, path: Path) -> Iterator[FieldError]:
    classes = path / "deviceClassNames"
    named = [(path / "name", mapping.name)]
    named += [(classes[index], name) for index, name in enumerate(mapping.device_class_names)]
    for place, name in named:
        problem = check_qualified_name(name)
        if problem:
            yield invalid(place, name, problem)


def _shared_classes(mappings: tuple[DeviceClassMapping, ...]) -> Iterator[FieldError]:
    """A class may be counted as two resources only with different counters."""
    seen: dict[str, list[DeviceClassMapping]] = {}
    for index, mapping in enumerate(mappings):
        for place, name in enumerate(dict.fromkeys(mapping.device_class_names)):
            earlier = seen.setdefault(name, [])
            if any(_overlap(mapping, other) for other in earlier):
                path = _MAPPINGS[index] / "deviceClassNames"
                detail = f"the class is already counted as {earlier[0].name}; list it once, or use different counters"
                yield invalid(path[place], name, detail)
            earlier.append(mapping)


def _overlap(left: DeviceClassMapping, right: DeviceClassMapping) -> bool:
    ours, theirs = _counters(left.sources), _counters(right.sources)
    return not ours or not theirs or bool(ours & theirs)


def _counters(sources: Iterable[DeviceClassSource]) -> set[str]:
    return {source.counter.name for source in sources if source.counter}


def _source_errors(sources: tuple[DeviceClassSource, ...], gates: FeatureGates, path: Path) -> Iterator[FieldError]:
    for index, source in enumerate(sources):
        yield from _one_source(source, gates, path[index])
    if any(source.counter for source in sources) and any(source.capacity for source in sources):
        yield invalid(path, len(sources), "counters and capacities cannot be mixed; use separate mappings")


def _one_source(source: DeviceClassSource, gates: FeatureGates, path: Path) -> Iterator[FieldError]:
    match source.counter, source.capacity:
        case None, None:
            yield required(path, "set a counter or a capacity")
        case CounterSource() as counter, None:
            yield from _gated(counter, Gate.KueueDRAIntegrationPartitionableDevices, gates, path / "counter")
        case None, CapacitySource() as capacity:
            yield from _gated(capacity, Gate.KueueDRAIntegrationConsumableCapacity, gates, path / "capacity")
        case _:
            yield invalid(path, "counter and capacity", "counter and capacity are mutually exclusive")


def _gated(source: CounterSource | CapacitySource, gate: Gate, gates: FeatureGates, path: Path) -> Iterator[FieldError]:
    if not gates.enabled(gate):
        yield forbidden(path, f"requires feature gate {gate.name}; enable it or remove the source")
    expression = source.device_selector.cel.expression
    problem = cel_problem(expression)
    if problem:
        yield invalid(path / "deviceSelector" / "cel" / "expression", expression, problem)


_CEL_TEXTS = re.compile(
    r'''//[^\n]*|[rR]"""(?:.*?)"""|[rR]\'\'\'(?:.*?)\'\'\'|"""(?:\\.|.)*?"""|\'\'\'(?:\\.|.)*?\'\'\'
    |[rR]"[^"\n]*"|[rR]'[^'\n]*'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*\'''',
    re.DOTALL | re.VERBOSE,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


def cel_problem(expression: str) -> str:
    """Syntax errors of a CEL expression that are visible without a CEL compiler."""
    code = _CEL_TEXTS.sub(lambda found: "" if found[0].startswith("//") else " text ", expression)
    if not code.strip():
        return "the expression is empty"
    if "'" in code or '"' in code:
        return "unterminated string"
    open_brackets: list[str] = []
    for char in code:
        if char in _PAIRS.values():
            open_brackets.append(char)
        elif char in _PAIRS and (not open_brackets or open_brackets.pop() != _PAIRS[char]):
            return f"unmatched {char}"
    return f"unmatched {open_brackets[-1]}" if open_brackets else ""
