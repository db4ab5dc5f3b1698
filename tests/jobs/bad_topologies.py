"""Topology annotations of pod templates that contradict each other or can't be read, with their errors."""

from typing import NamedTuple

from kohort.api.codec import JsonObject
from kohort.api.merge import merge

K = "kueue.x-k8s.io/"
RACK = "rack"
PODS = 4
"""Pods of the jobs in which the annotations are tried."""
PAIR = {"slice-required-topology": RACK, "slice-size": "2"}
CONSTRAINTS = "slice-required-topology-constraints"


class BadTopology(NamedTuple):
    """Annotations, their names without `kueue.x-k8s.io/podset-`."""

    annotations: dict[str, str]
    field: str
    """The annotation that is named, with a part of it; empty for all of them."""
    remedy: str
    needs_count: bool = False
    """Whether it is wrong for some numbers of pods only."""


def _layers(text: str, part: str, remedy: str, **rest: bool) -> BadTopology:
    return BadTopology({CONSTRAINTS: text}, f"{CONSTRAINTS}]{part}", remedy, **rest)


def _size(text: str, remedy: str, **rest: bool) -> BadTopology:
    return BadTopology({**PAIR, "slice-size": text}, "slice-size]", remedy, **rest)


BAD_TOPOLOGIES: dict[str, BadTopology] = {
    "required and preferred": BadTopology({"required-topology": RACK, "preferred-topology": RACK}, "", "keep one"),
    "required and unconstrained": BadTopology(
        {"required-topology": RACK, "unconstrained-topology": "true"}, "", "keep one"
    ),
    "preferred and unconstrained": BadTopology(
        {"preferred-topology": RACK, "unconstrained-topology": "false"}, "", "keep one"
    ),
    "not a boolean": BadTopology(
        {"unconstrained-topology": "perhaps"}, "unconstrained-topology]", "must be true or false"
    ),
    "no label key": BadTopology({"required-topology": "not a label"}, "required-topology]", "use letters, digits"),
    "empty level": BadTopology({"preferred-topology": ""}, "preferred-topology]", "use letters, digits"),
    "long level": BadTopology(
        {"required-topology": f"{'a' * 40}/{'b' * 40}"}, "required-topology]", "may not be more than 63"
    ),
    "slice level without size": BadTopology({"slice-required-topology": RACK}, "slice-size]", "must be given with"),
    "slice size without level": BadTopology({"slice-size": "2"}, "slice-size]", "add it, or remove the size"),
    "size 0": _size("0", "must be at least 1"),
    "size negative": _size("-2", "must be at least 1"),
    "size not a number": _size("two", "must be a whole number"),
    "size not whole": _size("1.5", "must be a whole number"),
    "size with two signs": _size("-+2", "must be a whole number"),
    "size of many digits": _size("9" * 5000, "must be a whole number"),
    "size that does not divide": _size("3", "must divide the number of pods, 4", needs_count=True),
    "size beyond the pods": _size("8", "may be at most the number of pods, 4", needs_count=True),
    "group without level": BadTopology({"group-name": "g"}, "group-name]", "needs kueue.x-k8s.io/podset-required"),
    "group of a number": BadTopology(
        {"group-name": "7", "required-topology": RACK}, "group-name]", "must not be a number: use a name"
    ),
    "long group name": BadTopology(
        {"group-name": "g" * 257, "required-topology": RACK}, "group-name]", "may not be more than 256"
    ),
    "group with slices": BadTopology(
        {"group-name": "g", "required-topology": RACK, **PAIR, "slice-size": "1"}, "group-name]", "remove one of them"
    ),
    "group with layers": BadTopology(
        {"group-name": "g", "required-topology": RACK, CONSTRAINTS: f'[{{"topology":"{RACK}","size":1}}]'},
        "group-name]",
        "remove one of them",
    ),
    "layers with slices": BadTopology(
        {**PAIR, "slice-size": "1", CONSTRAINTS: f'[{{"topology":"{RACK}","size":1}}]'},
        f"{CONSTRAINTS}]",
        "remove one of them",
    ),
    "layers that are no JSON": _layers(RACK, "", "must be a JSON list"),
    "layers that are no list": _layers(f'{{"topology":"{RACK}"}}', "", "must be a JSON list"),
    "layers of wrong types": _layers(f'[{{"topology":"{RACK}","size":"2"}}]', "", "must be a JSON list"),
    "layers too deep": _layers('[{"x":' + "[" * 20_000 + "]" * 20_000 + "}]", "", "must be a JSON list"),
    "no layers": _layers("[]", "", "must have 1 to 3 layers"),
    "many layers": _layers("[{},{},{},{}]", "", "must have 1 to 3 layers"),
    "layer without level": _layers('[{"size":1}]', "[0].topology", "use letters, digits"),
    "layer without size": _layers(f'[{{"topology":"{RACK}"}}]', "[0].size", "must be at least 1"),
    "layer too large": _layers(f'[{{"topology":"{RACK}","size":4294967296}}]', "[0].size", "must be at most"),
    "layer that does not divide": _layers(
        f'[{{"topology":"{RACK}","size":4}},{{"topology":"host","size":3}}]', "[1].size", "must divide the size"
    ),
    "the same layer twice": _layers(
        f'[{{"topology":"{RACK}","size":1}},{{"topology":"{RACK}","size":1}}]', "[1].topology", "may appear once"
    ),
    "layers that do not divide the pods": _layers(
        f'[{{"topology":"{RACK}","size":3}}]', "", "must divide the number of pods, 4", needs_count=True
    ),
}


def annotated(target: JsonObject, annotations: dict[str, str]) -> JsonObject:
    """A pod or a template with topology annotations."""
    named = {f"{K}podset-{name}": value for name, value in annotations.items()}
    return dict(merge(target, {"metadata": {"annotations": named}}))


def path_of(bad: BadTopology, prefix: str) -> str:
    """The path that an error about it begins with; annotations are at `prefix`."""
    return f"{prefix}[{K}podset-{bad.field}" if bad.field else prefix
