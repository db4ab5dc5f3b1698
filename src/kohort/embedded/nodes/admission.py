"""Whether a node takes a pod that was bound to it: the kubelet's own last look, worded as it words it."""

from collections.abc import Mapping

from kohort.api.amounts import to_amount
from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.api.selectors import required_nodes
from kohort.api.taints import untolerated
from kohort.embedded.admission.usage import pod_total
from kohort.embedded.nodes.runtime import PodFailure
from kohort.embedded.nodes.seen_nodes import AgentNode

Amounts = dict[str, int]

_MOST_KNOWN = 4096
_OWN = ("pods", "cpu", "memory", "ephemeral-storage")
"""Resources that every node has, in the order they are looked at; of others it knows only those that it offers."""


def requests_of(pod: Mapping[str, Json]) -> Amounts:
    """What a pod takes of a node, itself included."""
    asked = pod_total(pod.get("spec") or {}, "requests")
    return {"pods": 1, **{name: to_amount(name, amount) for name, amount in asked.items()}}


class NodeUsage:
    """What the pods of each node have taken of it."""

    def __init__(self) -> None:
        self._used: dict[str, Amounts] = {}
        self._known: dict[tuple[tuple[str, int], ...], Amounts] = {}

    def shared(self, amounts: Amounts) -> Mapping[str, int]:
        """The same amounts, kept once for all pods that ask for them."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        return self._known.setdefault(tuple(amounts.items()), amounts)

    def used(self, node: str) -> Mapping[str, int]:
        """What is taken of a node."""
        return self._used.get(node, {})

    def take(self, node: str, amounts: Mapping[str, int]) -> None:
        """A pod has come."""
        used = self._used.setdefault(node, {})
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + amount

    def give_back(self, node: str, amounts: Mapping[str, int]) -> None:
        """A pod has ended or gone."""
        used = self._used.get(node, {})
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) - amount
        if not used.get("pods"):
            self._used.pop(node, None)


def refusal(pod: Pod, requests: Mapping[str, int], node: AgentNode, used: Mapping[str, int]) -> PodFailure | None:
    """Why the node does not take the pod; None where it does."""
    return _shortage(requests, node, used) or _mismatch(pod, node)


def _shortage(requests: Mapping[str, int], node: AgentNode, used: Mapping[str, int]) -> PodFailure | None:
    for name in sorted(requests, key=_order):
        asked, taken = requests[name], used.get(name, 0)
        offered = node.allocatable.get(name)
        if offered is None and name not in _OWN:
            continue
        if asked and asked > (offered or 0) - taken:
            numbers = f"requested: {asked}, used: {taken}, capacity: {offered or 0}"
            return PodFailure(f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}")
    return None


def _order(name: str) -> tuple[int, str]:
    return _OWN.index(name) if name in _OWN else len(_OWN), name


def _mismatch(pod: Pod, node: AgentNode) -> PodFailure | None:
    if not required_nodes(pod.spec).matches(node.key.name, node.labels):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    if untolerated(node.taints, pod.spec.tolerations, ("NoExecute",)):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _failed(predicate: str, why: str) -> PodFailure:
    return PodFailure(predicate, f"Predicate {predicate} failed: {why}")


def rejected_status(failure: PodFailure) -> PodFailure:
    """The refusal as it stands in the pod's status."""
    return PodFailure(failure.reason, f"Pod was rejected: {failure.message}")
