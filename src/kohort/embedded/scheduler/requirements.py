"""Compiled scheduling requirements, shared by all pods with an equal spec.

Labels are part of the cache key only if the pod has affinity or spread terms: an index label must not give every pod of
a Job requirements of its own.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kohort.api.amounts import to_amount
from kohort.api.codec import encode, to_json
from kohort.api.core.affinity import NodeSelector
from kohort.api.core.pods import PodSpec
from kohort.api.meta import Toleration
from kohort.api.quantity import Quantity
from kohort.api.selectors import NODE_NAME_FIELD, NodeTerm, Operator, RequiredNodes, node_term, required_nodes
from kohort.embedded.admission.usage import added, pod_total
from kohort.embedded.scheduler.terms import NO_RELATIONS, Relations, relations
from kohort.embedded.scheduler.views import SchedulerContainer, SchedulerPod, SchedulerPodSpec

MAX_SHAPES: Final = 4096
CPU, MEMORY = "cpu", "memory"
DEFAULT_CPU_REQUEST: Final = 100
DEFAULT_MEMORY_REQUEST: Final = 200 * 2**20
"""Counted for pods without requests, so that they are spread too (kube-scheduler's defaults)."""
ANY_ADDRESS: Final = ("", "0.0.0.0")  # noqa: S104 - compared, not bound
_FIRST = {CPU: 0, MEMORY: 1, "ephemeral-storage": 2}
"""Order of resources in fit errors; others follow by name."""


class HostPort(NamedTuple):
    """A host port used by a pod."""

    protocol: str
    port: int
    address: str

    def conflicts(self, other: "HostPort") -> bool:
        """Whether the two ports cannot be used on one node."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or self.address in ANY_ADDRESS or other.address in ANY_ADDRESS


class VolumeClaimUse(NamedTuple):
    """A PersistentVolumeClaim used by a pod."""

    name: str
    is_made_for_pod: bool


@dataclass(frozen=True, slots=True, eq=False)
class PodRequirements:
    """Scheduling requirements shared by equal pods; compared by identity."""

    requests: tuple[tuple[str, int], ...]
    """Requests above zero."""
    cpu: int
    memory: int
    """For scores, including the defaults for missing requests."""
    ports: tuple[HostPort, ...]
    nodes: RequiredNodes
    names: frozenset[str] | None
    """The only nodes that the required affinity allows by name; None if not restricted by name."""
    preferred_nodes: tuple[tuple[int, NodeTerm], ...]
    """Preferred node terms with weights."""
    tolerations: tuple[Toleration, ...]
    priority: int
    may_preempt: bool
    claims: tuple[VolumeClaimUse, ...]
    relations: Relations

    @property
    def picks_nodes(self) -> bool:
        """Whether the pod restricts nodes by labels or name."""
        return bool(self.nodes.selector.requirements) or self.nodes.terms is not None

    @property
    def is_plain(self) -> bool:
        """Whether filters and scores of a node depend on that node alone."""
        return self.relations is NO_RELATIONS and not self.claims and self.names is None


class RequirementsCache:
    """LRU cache of compiled requirements."""

    def __init__(self) -> None:
        self._cache: OrderedDict[bytes, PodRequirements] = OrderedDict()

    def of(self, pod: SchedulerPod) -> PodRequirements:
        """The requirements of a pod."""
        key = _shape(pod)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = _read(pod)
            if len(self._cache) > MAX_SHAPES:
                self._cache.popitem(last=False)
        else:
            self._cache.move_to_end(key)
        return found


def _shape(pod: SchedulerPod) -> bytes:
    spec = pod.spec
    is_related = _has_pod_relations(spec)
    resources = (
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        spec.node_selector,
        spec.affinity,
    )
    others = (spec.tolerations, spec.topology_spread_constraints, spec.priority, spec.preemption_policy)
    identity = (pod.metadata.namespace, pod.metadata.labels) if is_related else None
    return encode((resources, others, identity, list(_claims(pod))))


def _has_pod_relations(spec: SchedulerPodSpec) -> bool:
    affinity = spec.affinity
    return bool(spec.topology_spread_constraints) or (
        affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
    )


def _read(pod: SchedulerPod) -> PodRequirements:
    spec, metadata = pod.spec, pod.metadata
    requests = pod_requests(spec)
    required = spec.affinity.node_affinity if spec.affinity else None
    preferred = required.preferred_during_scheduling_ignored_during_execution if required else ()
    needed = required.required_during_scheduling_ignored_during_execution if required else None
    others = NO_RELATIONS
    if _has_pod_relations(spec):
        others = relations(metadata.namespace, metadata.labels, spec.affinity, spec.topology_spread_constraints)
    return PodRequirements(
        requests=tuple(sorted(requests.items(), key=_order)),
        cpu=requests.get(CPU, DEFAULT_CPU_REQUEST),
        memory=requests.get(MEMORY, DEFAULT_MEMORY_REQUEST),
        ports=tuple(_host_ports((*spec.init_containers, *spec.containers))),
        nodes=required_nodes(PodSpec(containers=(), node_selector=spec.node_selector, affinity=spec.affinity)),
        names=_node_names(needed),
        preferred_nodes=tuple((each.weight, node_term(each.preference)) for each in preferred),
        tolerations=spec.tolerations,
        priority=spec.priority or 0,
        may_preempt=spec.preemption_policy != "Never",
        claims=tuple(_claims(pod)),
        relations=others,
    )


def pod_requests(spec: SchedulerPodSpec) -> dict[str, int]:
    """The pod's requests in internal units; pod-level requests replace the sum over containers."""
    whole = spec.resources.requests if spec.resources else {}
    containers = {"containers": to_json(spec.containers), "initContainers": to_json(spec.init_containers)}
    total = pod_total(containers, "requests") | {name: Quantity.parse(raw) for name, raw in whole.items()}
    total = added(total, {name: Quantity.parse(raw) for name, raw in spec.overhead.items()})
    amounts = {name: to_amount(name, quantity) for name, quantity in total.items()}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _order(item: tuple[str, int]) -> tuple[int, str]:
    return _FIRST.get(item[0], len(_FIRST)), item[0]


def _host_ports(containers: Iterable[SchedulerContainer]) -> Iterator[HostPort]:
    for container in containers:
        for port in container.ports:
            if port.host_port:
                yield HostPort(port.protocol or "TCP", port.host_port, port.host_ip)


def _node_names(selector: NodeSelector | None) -> frozenset[str] | None:
    """The node names that the selector allows; None if a term does not restrict names."""
    if selector is None or not selector.node_selector_terms:
        return None
    named = frozenset[str]()
    for term in selector.node_selector_terms:
        sets = [
            frozenset(each.values)
            for each in term.match_fields
            if each.key == NODE_NAME_FIELD and each.operator == Operator.IN.value
        ]
        if not sets:
            return None
        named |= frozenset.intersection(*sets)
    return named


def _claims(pod: SchedulerPod) -> Iterator[VolumeClaimUse]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield VolumeClaimUse(volume.persistent_volume_claim.claim_name, is_made_for_pod=False)
        elif volume.ephemeral is not None:
            yield VolumeClaimUse(f"{pod.metadata.name}-{volume.name}", is_made_for_pod=True)
