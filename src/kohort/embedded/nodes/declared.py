"""Declared nodes: from counts and patterns, from a file of Node manifests, or this machine.

Each results in a name, labels, taints and capacity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.errors import ApiError
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.meta import Taint
from kohort.api.names import check_qualified_name, check_subdomain, label_errors
from kohort.api.quantity import QuantityError, canonical
from kohort.embedded.nodes.patterns import Patterns

MAX_NODES = 50_000
PODS = "110"
"""Default number of pods of a node."""
DEFAULT_CAPACITY = "cpu=8,memory=32Gi"
DEFAULT_NAME = "node-{node}"


class DeclarationError(ApiError):
    """An invalid node declaration; states the location, the value and the remedy."""


@dataclass(frozen=True, slots=True)
class DeclaredNode:
    """A node to register."""

    name: str
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """Allocatable resources; equal to the capacity if empty."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False

    @property
    def offered(self) -> Mapping[str, str]:
        """Allocatable resources."""
        return self.allocatable or self.capacity


@dataclass(frozen=True, slots=True)
class NodePool:
    """A number of nodes that differ only by their index."""

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
        if not 0 < self.count <= MAX_NODES:
            raise DeclarationError(f"{self.count} nodes: give a number from 1 to {MAX_NODES}")
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
    """The capacity with a number of pods, without which no pod could be scheduled."""
    return {"pods": PODS, **capacity}


def parse_capacity(text: str) -> dict[str, str]:
    """Parses `cpu=96,memory=256Gi`; raises DeclarationError."""
    found = _pairs(text, "capacity")
    problems = capacity_errors(found, Path("capacity"))
    if problems:
        raise DeclarationError(str(problems[0]))
    return {name: canonical(amount) for name, amount in found.items()}


def parse_taints(text: str) -> tuple[Taint, ...]:
    """Parses `key=value:NoSchedule,other:NoExecute`; raises DeclarationError."""
    return tuple(_taint(part.strip()) for part in text.split(",") if part.strip())


def _taint(text: str) -> Taint:
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute") or check_qualified_name(key):
        raise DeclarationError(f'taint "{text}": write key=value:NoSchedule, :PreferNoSchedule or :NoExecute')
    return Taint(key=key, value=value, effect=effect)


def _pairs(text: str, what: str) -> dict[str, str]:
    """Parses `a=b,c=d`."""
    pairs: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = part.partition("=")
        if not sign or not name.strip():
            raise DeclarationError(f'{what}: invalid name=value "{part}"')
        if name.strip() in pairs:
            raise DeclarationError(f"{what}: duplicate {name.strip()}")
        pairs[name.strip()] = value.strip()
    return pairs


def capacity_errors(capacity: Mapping[str, object], path: Path) -> list[FieldError]:
    """Errors for invalid resource names and quantities."""
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
    """Errors that an API server would return."""
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
