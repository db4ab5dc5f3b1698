"""Reads declared nodes from Node manifests, hand-written or printed by `kubectl get nodes -o yaml`."""

from collections.abc import Iterable

from kohort.api.codec import Json, from_json
from kohort.api.core.nodes import Node
from kohort.api.documents import Document, load
from kohort.api.errors import DecodeError, DocumentError
from kohort.api.fields import ROOT, FieldError, Path, required
from kohort.api.quantity import canonical
from kohort.api.taints import taint_errors
from kohort.embedded.nodes.declared import DeclarationError, DeclaredNode, capacity_errors, node_errors, with_pods

_OF_CONTROLLERS = "node.kubernetes.io/"
"""Prefix of taints that controllers set according to the node's condition."""


def read_nodes(file: str) -> tuple[DeclaredNode, ...]:
    """All nodes of a file, or of standard input for `-`; raises DocumentError with file, line and field."""
    nodes: dict[str, DeclaredNode] = {}
    for document in load(file):
        node = _node(document, document.value)
        if node.name in nodes:
            raise _problem(document, Path("metadata") / "name", f'duplicate "{node.name}"')
        nodes[node.name] = node
    if not nodes:
        raise DeclarationError(f"{file}: no Node found: give manifests of kind Node with status.capacity")
    return tuple(nodes.values())


def _node(document: Document, found: Json) -> DeclaredNode:
    if not isinstance(found, dict):
        raise _problem(document, ROOT, "not an object: write manifests of kind Node")
    if (found.get("apiVersion"), found.get("kind")) != ("v1", "Node"):
        raise _problem(document, Path("kind"), f"expected v1 Node, found {found.get('apiVersion')} {found.get('kind')}")
    try:
        read = from_json(found, Node)
    except DecodeError as error:
        raise _problem(document, ROOT, str(error)) from None
    for problem in _errors(read):
        raise _problem(document, problem.path, str(problem).partition(": ")[2])
    return _declared(read)


def _errors(node: Node) -> Iterable[FieldError]:
    status = Path("status")
    yield from node_errors(node.metadata.name, node.metadata.labels)
    yield from taint_errors(node.spec.taints, Path("spec") / "taints")
    yield from capacity_errors(node.status.capacity, status / "capacity")
    yield from capacity_errors(node.status.allocatable, status / "allocatable")
    if not node.status.capacity:
        yield required(status / "capacity", "set what the node offers, such as cpu and memory")


def _declared(node: Node) -> DeclaredNode:
    capacity = with_pods({name: canonical(amount) for name, amount in node.status.capacity.items()})
    offered = {name: canonical(amount) for name, amount in node.status.allocatable.items()}
    return DeclaredNode(
        node.metadata.name,
        capacity,
        {**capacity, **offered} if offered else {},
        node.metadata.labels,
        node.metadata.annotations,
        tuple(taint for taint in node.spec.taints if not taint.key.startswith(_OF_CONTROLLERS)),
        node.spec.unschedulable,
    )


def _problem(document: Document, path: Path, what: str) -> DocumentError:
    line, column = document.position_of(path)
    return DocumentError(f"{path}: {what}" if path.text else what, file=document.file, line=line, column=column)
