"""Nodes as somebody declares them: in numbers, in a file of Node manifests, or as the machine itself.

Whatever the way, the outcome is the same: a name, labels, taints and what the node offers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.errors import ApiError
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.meta import Taint
from kohort.api.names import check_qualified_name, check_subdomain, label_errors
from kohort.api.quantity import QuantityError, canonical
from kohort.embedded.nodes.patterns import Patterns

MOST_NODES = 50_000
PODS = "110"
"""How many pods a node takes that does not say it."""
DEFAULT_CAPACITY = "cpu=8,memory=32Gi"
DEFAULT_NAME = "node-{node}"


class DeclarationError(ApiError):
    """Nodes that can't be: names the place, the value and the remedy."""


@dataclass(frozen=True, slots=True)
class DeclaredNode:
    """A node to be registered."""

    name: str
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """What pods may have of the capacity; all of it where nothing is said."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False

    @property
    def offered(self) -> Mapping[str, str]:
        """What pods may have."""
        return self.allocatable or self.capacity


@dataclass(frozen=True, slots=True)
class NodePool:
    """So many nodes that differ in their number only."""

    count: int
    capacity: str = DEFAULT_CAPACITY
    """`cpu=96,memory=256Gi`."""
    labels: str = ""
    """`zone=z{0..3},rack=r{0..15}`, see `patterns`."""
    name: str = DEFAULT_NAME
    taints: str = ""
    """`key=value:NoSchedule,other:NoExecute`."""

    def nodes(self) -> tuple[DeclaredNode, ...]:
        """The nodes; raises DeclarationError."""
        if not 0 < self.count <= MOST_NODES:
            raise DeclarationError(f"{self.count} nodes: give a number from 1 to {MOST_NODES}")
        capacity = with_pods(parse_capacity(self.capacity))
        taints = parse_taints(self.taints)
        patterns = Patterns.parse({"": self.name, **_pairs(self.labels, "labels")})
        made = []
        for number in range(self.count):
            labels = patterns.texts(number, self.count)
            made.append(DeclaredNode(labels.pop(""), capacity, labels=labels, taints=taints))
        _refuse(made)
        return tuple(made)


def with_pods(capacity: Mapping[str, str]) -> dict[str, str]:
    """The capacity with a number of pods, without which no pod could be placed."""
    return {"pods": PODS, **capacity}


def parse_capacity(text: str) -> dict[str, str]:
    """`cpu=96,memory=256Gi` as quantities; raises DeclarationError."""
    found = _pairs(text, "capacity")
    problems = capacity_errors(found, Path("capacity"))
    if problems:
        raise DeclarationError(str(problems[0]))
    return {name: canonical(amount) for name, amount in found.items()}


def parse_taints(text: str) -> tuple[Taint, ...]:
    """`key=value:NoSchedule,other:NoExecute`; raises DeclarationError."""
    return tuple(_taint(part.strip()) for part in text.split(",") if part.strip())


def _taint(text: str) -> Taint:
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute") or check_qualified_name(key):
        raise DeclarationError(f'taint "{text}": write key=value:NoSchedule, :PreferNoSchedule or :NoExecute')
    return Taint(key=key, value=value, effect=effect)


def _pairs(text: str, what: str) -> dict[str, str]:
    """`a=b,c=d`."""
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = part.partition("=")
        if not sign or not name.strip():
            raise DeclarationError(f'{what}: "{part}" is no name=value')
        if name.strip() in pairs:
            raise DeclarationError(f"{what}: {name.strip()} stands twice")
        pairs[name.strip()] = value.strip()
    return pairs


def capacity_errors(capacity: Mapping[str, object], path: Path) -> list[FieldError]:
    """Resources without a proper name, and amounts that are none."""
    errors = []
    for name, amount in capacity.items():
        problem = check_qualified_name(name)
        if problem:
            errors.append(invalid(path[name], name, problem))
        try:
            negative = canonical(str(amount)).startswith("-")
        except QuantityError as error:
            errors.append(invalid(path[name], amount, str(error)))
        else:
            if negative:
                errors.append(invalid(path[name], amount, "must be greater than or equal to 0"))
    return errors


def node_errors(name: str, labels: Mapping[str, str]) -> list[FieldError]:
    """What an API server would refuse."""
    metadata = Path("metadata")
    problem = check_subdomain(name)
    errors = [invalid(metadata / "name", name, problem)] if problem else []
    return errors + label_errors(labels, metadata / "labels")


def _refuse(nodes: list[DeclaredNode]) -> None:
    names = {node.name for node in nodes}
    if len(names) < len(nodes):
        raise DeclarationError(f'{len(nodes)} nodes share the name "{nodes[0].name}": put {{node}} into it')
    for node in nodes:
        problems = node_errors(node.name, node.labels)
        if problems:
            raise DeclarationError(f"node {node.name}: {problems[0]}")
