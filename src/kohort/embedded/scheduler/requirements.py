"""What pods of one shape ask of a node, read once: pods of one controller share it, and with it all that is cached.

Labels are part of a shape only where the pod says something about other pods: an index in a label must not make every
pod of a Job another shape.
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
from kohort.embedded.scheduler.views import SchedulerPod, SchedulerPodSpec, SeenContainer

MOST_SHAPES: Final = 4096
CPU, MEMORY = "cpu", "memory"
UNSTATED_CPU: Final = 100
UNSTATED_MEMORY: Final = 200 * 2**20
"""What a pod that asks for nothing counts as, so that such pods are spread too; Kubernetes has the same."""
ANY_ADDRESS: Final = ("", "0.0.0.0")  # noqa: S104 - compared, not bound
_FIRST = {CPU: 0, MEMORY: 1, "ephemeral-storage": 2}
"""Resources in the order in which shortages are told; others follow by name."""


class HostPort(NamedTuple):
    """A port that a pod takes of its node."""

    protocol: str
    port: int
    address: str

    def clashes(self, other: "HostPort") -> bool:
        """Whether both can't be on one node."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or self.address in ANY_ADDRESS or other.address in ANY_ADDRESS


class VolumeClaimUse(NamedTuple):
    """A claim on storage that a pod needs."""

    name: str
    is_made_for_pod: bool


@dataclass(frozen=True, slots=True, eq=False)
class PodRequirements:
    """A shape of pods; equal only to itself, since each shape is read once."""

    requests: tuple[tuple[str, int], ...]
    """Amounts above zero."""
    cpu: int
    memory: int
    """For scores: the unstated counts as something."""
    ports: tuple[HostPort, ...]
    nodes: RequiredNodes
    names: frozenset[str] | None
    """The only nodes that the required affinity can mean, where it names them."""
    wishes: tuple[tuple[int, NodeTerm], ...]
    """Preferred nodes, with weights."""
    tolerations: tuple[Toleration, ...]
    priority: int
    may_preempt: bool
    claims: tuple[VolumeClaimUse, ...]
    relations: Relations

    @property
    def picks_nodes(self) -> bool:
        """Whether not every node will do by its labels and name."""
        return bool(self.nodes.selector.requirements) or self.nodes.terms is not None

    @property
    def is_plain(self) -> bool:
        """Whether what a node is worth depends on that node alone."""
        return self.relations is NO_RELATIONS and not self.claims and self.names is None


class RequirementsCache:
    """The shapes seen lately."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, PodRequirements] = OrderedDict()

    def of(self, pod: SchedulerPod) -> PodRequirements:
        """What the pod asks for."""
        key = _shape(pod)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _read(pod)
            if len(self._known) > MOST_SHAPES:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return found


def _shape(pod: SchedulerPod) -> bytes:
    spec = pod.spec
    says = _speaks_of_pods(spec)
    asked = (spec.containers, spec.init_containers, spec.overhead, spec.resources, spec.node_selector, spec.affinity)
    others = (spec.tolerations, spec.topology_spread_constraints, spec.priority, spec.preemption_policy)
    own = (pod.metadata.namespace, pod.metadata.labels) if says else None
    return encode((asked, others, own, list(_claims(pod))))


def _speaks_of_pods(spec: SchedulerPodSpec) -> bool:
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
    if _speaks_of_pods(spec):
        others = relations(metadata.namespace, metadata.labels, spec.affinity, spec.topology_spread_constraints)
    return PodRequirements(
        requests=tuple(sorted(requests.items(), key=_order)),
        cpu=requests.get(CPU, UNSTATED_CPU),
        memory=requests.get(MEMORY, UNSTATED_MEMORY),
        ports=tuple(_host_ports((*spec.init_containers, *spec.containers))),
        nodes=required_nodes(PodSpec(containers=(), node_selector=spec.node_selector, affinity=spec.affinity)),
        names=_node_names(needed),
        wishes=tuple((each.weight, node_term(each.preference)) for each in preferred),
        tolerations=spec.tolerations,
        priority=spec.priority or 0,
        may_preempt=spec.preemption_policy != "Never",
        claims=tuple(_claims(pod)),
        relations=others,
    )


def pod_requests(spec: SchedulerPodSpec) -> dict[str, int]:
    """What a pod takes of a node, in internal units; what it asks for as a whole stands in place of the sum."""
    whole = spec.resources.requests if spec.resources else {}
    containers = {"containers": to_json(spec.containers), "initContainers": to_json(spec.init_containers)}
    total = pod_total(containers, "requests") | {name: Quantity.parse(raw) for name, raw in whole.items()}
    total = added(total, {name: Quantity.parse(raw) for name, raw in spec.overhead.items()})
    amounts = {name: to_amount(name, quantity) for name, quantity in total.items()}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _order(item: tuple[str, int]) -> tuple[int, str]:
    return _FIRST.get(item[0], len(_FIRST)), item[0]


def _host_ports(containers: Iterable[SeenContainer]) -> Iterator[HostPort]:
    for container in containers:
        for port in container.ports:
            if port.host_port:
                yield HostPort(port.protocol or "TCP", port.host_port, port.host_ip)


def _node_names(selector: NodeSelector | None) -> frozenset[str] | None:
    """The nodes that are named, where every alternative names some."""
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
