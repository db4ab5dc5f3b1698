"""One refusal and one acceptance for each rule of resources.deviceClassMappings (docs/spec, section 10.1)."""

from typing import Any

import pytest

from api.config.configurations import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    Case,
    accepted,
    assert_refused,
    case,
    texts,
    v1beta2,
)
from kohort.api.codec import Json
from kohort.api.config.devices import cel_problem

CAPACITY_ON = {"KueueDRAIntegrationConsumableCapacity": True}
MAPPING = "resources.deviceClassMappings[0]"
SOURCE = f"{MAPPING}.sources[0]"


def mappings(*entries: Json, **gates: bool) -> Json:
    return {"resources": {"deviceClassMappings": list(entries)}, "featureGates": gates}


def mapping(name: str = "gpu", *classes: str, **settings: Any) -> Json:
    return {"name": name, "deviceClassNames": list(classes or ("gpu.example.com",)), **settings}


def source(name: str = "memory", **settings: Any) -> Json:
    return {"name": name, "driver": "gpu.example.com", "deviceSelector": {"cel": {"expression": "true"}}, **settings}


def counter(name: str = "memory", **settings: Any) -> Json:
    return {"counter": source(name, **settings)}


def capacity(name: str = "memory", **settings: Any) -> Json:
    return {"capacity": source(name, **settings)}


def counters(*sources: Json) -> Json:
    return mappings(mapping(sources=list(sources)))


def capacities(*sources: Json) -> Json:
    return mappings(mapping(sources=list(sources)), **CAPACITY_ON)


CASES = [
    case(
        "at most 16 device class mappings",
        bad=mappings(*(mapping(f"gpu{index}", f"class{index}") for index in range(17))),
        gives=("resources.deviceClassMappings", TOO_MANY),
        good=mappings(*(mapping(f"gpu{index}", f"class{index}") for index in range(16))),
    ),
    case(
        "a mapping's name is a label key",
        bad=mappings(mapping("a b")),
        gives=(f"{MAPPING}.name", INVALID),
        good=mappings(mapping("example.com/gpu")),
    ),
    case(
        "a mapping's name has at most 253 characters",
        bad=mappings(mapping(f"{'.'.join(['a' * 62] * 4)}/gpu")),
        gives=(f"{MAPPING}.name", TOO_LONG),
        good=mappings(mapping(f"{'.'.join(['a' * 61] * 4)}/gpu")),
    ),
    case(
        "mappings have different names",
        bad=mappings(mapping("gpu", "a"), mapping("gpu", "b")),
        gives=("resources.deviceClassMappings[1]", DUPLICATE),
        good=mappings(mapping("gpu", "a"), mapping("tpu", "b")),
    ),
    case(
        "a mapping has device classes",
        bad=mappings({"name": "gpu"}),
        gives=(f"{MAPPING}.deviceClassNames", REQUIRED),
        good=mappings(mapping("gpu", *texts(8))),
    ),
    case(
        "a mapping's device classes are not an empty list",
        bad=mappings({"name": "gpu", "deviceClassNames": []}),
        gives=(f"{MAPPING}.deviceClassNames", INVALID),
        good=mappings(mapping("gpu", "a")),
    ),
    case(
        "a mapping has at most 8 device classes",
        bad=mappings(mapping("gpu", *texts(9))),
        gives=(f"{MAPPING}.deviceClassNames", TOO_MANY),
        good=mappings(mapping("gpu", *texts(8))),
    ),
    case(
        "device classes are label keys",
        bad=mappings(mapping("gpu", "a", "b c")),
        gives=(f"{MAPPING}.deviceClassNames[1]", INVALID),
        good=mappings(mapping("gpu", "a", "b.c")),
    ),
    case(
        "device classes of a mapping are unique",
        bad=mappings(mapping("gpu", "a", "a")),
        gives=(f"{MAPPING}.deviceClassNames[1]", DUPLICATE),
        good=mappings(mapping("gpu", "a", "b")),
    ),
    case(
        "a device class counts as one resource",
        bad=mappings(mapping("gpu", "a"), mapping("tpu", "b", "a")),
        gives=("resources.deviceClassMappings[1].deviceClassNames[1]", INVALID),
        good=mappings(mapping("gpu", "a"), mapping("tpu", "b")),
    ),
    case(
        "a device class counts as two resources only by two counters",
        bad=mappings(mapping(sources=[counter("memory")]), mapping("half", sources=[counter("memory")])),
        gives=("resources.deviceClassMappings[1].deviceClassNames[0]", INVALID),
        good=mappings(mapping(sources=[counter("memory")]), mapping("half", sources=[counter("compute")])),
    ),
    case(
        "a source is a counter or a capacity",
        bad=counters({}),
        gives=(SOURCE, REQUIRED),
        good=counters(counter()),
    ),
    case(
        "a source is not both",
        bad=capacities({**counter(), **capacity()}),
        gives=[(SOURCE, INVALID), (f"{MAPPING}.sources", INVALID)],
        good=capacities(capacity()),
    ),
    case(
        "counters and capacities are not mixed",
        bad=capacities(counter(), capacity()),
        gives=(f"{MAPPING}.sources", INVALID),
        good=capacities(capacity("memory"), capacity("compute")),
    ),
    case(
        "counters need their gate",
        bad=mappings(mapping(sources=[counter()]), KueueDRAIntegrationPartitionableDevices=False),
        gives=(f"{SOURCE}.counter", FORBIDDEN),
        good=counters(counter()),
    ),
    case(
        "capacities need their gate",
        bad=counters(capacity()),
        gives=(f"{SOURCE}.capacity", FORBIDDEN),
        good=capacities(capacity()),
    ),
    case(
        "a counter's name is a DNS label",
        bad=counters(counter("Memory")),
        gives=(f"{SOURCE}.counter.name", INVALID),
        good=counters(counter("memory-1")),
    ),
    case(
        "a capacity's name is a qualified name",
        bad=capacities(capacity("a-b")),
        gives=(f"{SOURCE}.capacity.name", INVALID),
        good=capacities(capacity("example.com/vram_gib")),
    ),
    case(
        "a driver is a DNS subdomain",
        bad=counters(counter(driver="GPU")),
        gives=(f"{SOURCE}.counter.driver", INVALID),
        good=counters(counter(driver="gpu.example.com")),
    ),
    case(
        "a driver has at most 63 characters",
        bad=capacities(capacity(driver="a" * 64)),
        gives=(f"{SOURCE}.capacity.driver", TOO_LONG),
        good=capacities(capacity(driver="a" * 63)),
    ),
    case(
        "a source selects its devices",
        bad=counters(counter(deviceSelector={})),
        gives=(f"{SOURCE}.counter.deviceSelector.cel", REQUIRED),
        good=counters(counter()),
    ),
    case(
        "a device selector can be CEL",
        bad=counters(counter(deviceSelector={"cel": {"expression": "device.driver == 'x"}})),
        gives=(f"{SOURCE}.counter.deviceSelector.cel.expression", INVALID),
        good=counters(counter(deviceSelector={"cel": {"expression": "device.attributes['x'].y == 'a(b'"}})),
    ),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_breaks_the_rule_is_refused(each: Case) -> None:
    """API-137"""
    assert_refused(each)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_keeps_the_rule_is_accepted(each: Case) -> None:
    """API-137"""
    accepted(v1beta2(**each.good))


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        'device.driver == "gpu.example.com"',
        "device.attributes['gpu.example.com'].model.matches('^(A|H)100$')",
        r'device.name == "a\"(" && [1, 2].exists(x, x == 1)',
        "'''it's''' == r'\\' // a ' in a comment",
    ],
)
def test_a_well_formed_cel_expression_has_no_problem(expression: str) -> None:
    assert cel_problem(expression) == ""


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("  ", "empty"),
        ("// nothing", "empty"),
        ("device.driver == 'x", "unterminated string"),
        ("(true", "unmatched ("),
        ("true)", "unmatched )"),
        ("[1, (2])", "unmatched ]"),
    ],
)
def test_a_malformed_cel_expression_is_reported_apart(expression: str, problem: str) -> None:
    assert problem in cel_problem(expression)
