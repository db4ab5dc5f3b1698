"""The kubelet's admission of bound pods, with its reasons and messages."""

from collections.abc import Mapping

from kohort.api.amounts import to_amount
from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.api.selectors import required_nodes
from kohort.api.taints import untolerated
from kohort.embedded.admission.usage import pod_total
from kohort.embedded.nodes.agent_nodes import AgentNode
from kohort.embedded.nodes.runtime import PodFailure

_Amounts = dict[str, int]

_MAX_SHARED = 4096
_OWN = ("pods", "cpu", "memory", "ephemeral-storage")
"""Resources that every node has, in evaluation order; of other resources only offered ones are checked."""


def requests_of(pod: Mapping[str, Json]) -> _Amounts:
    """The requests of a pod, including one unit of `pods`."""
    asked = pod_total(pod.get("spec") or {}, "requests")
    return {"pods": 1, **{name: to_amount(name, amount) for name, amount in asked.items()}}


class NodeUsage:
    """Resource usage by node."""

    def __init__(self) -> None:
        self._used: dict[str, _Amounts] = {}
        self._known: dict[tuple[tuple[str, int], ...], _Amounts] = {}

    def shared(self, amounts: _Amounts) -> Mapping[str, int]:
        """One shared instance for equal amounts."""
        if len(self._known) >= _MAX_SHARED:
            self._known.clear()
        return self._known.setdefault(tuple(amounts.items()), amounts)

    def used(self, node: str) -> Mapping[str, int]:
        """The usage of a node."""
        return self._used.get(node, {})

    def take(self, node: str, amounts: Mapping[str, int]) -> None:
        """Adds a pod's requests."""
        used = self._used.setdefault(node, {})
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) + amount

    def give_back(self, node: str, amounts: Mapping[str, int]) -> None:
        """Subtracts a pod's requests."""
        used = self._used.get(node, {})
        for name, amount in amounts.items():
            used[name] = used.get(name, 0) - amount
        if not used.get("pods"):
            self._used.pop(node, None)


def rejection(pod: Pod, requests: Mapping[str, int], node: AgentNode, used: Mapping[str, int]) -> PodFailure | None:
    """Why the node rejects the pod; None if it is admitted."""
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
    """The rejection as pod status."""
    return PodFailure(failure.reason, f"Pod was rejected: {failure.message}")
