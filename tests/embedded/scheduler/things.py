"""Nodes and pods in one line each, and a cluster to try placements on."""

from itertools import count
from typing import Any

from kohort.api.codec import decode, encode
from kohort.api.meta import ObjectKey
from kohort.embedded.scheduler.budgets import DisruptionAllowance
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo, SchedulerCache
from kohort.embedded.scheduler.diagnosis import FilterFailure, FitError
from kohort.embedded.scheduler.placement import Placer, SelectedNode
from kohort.embedded.scheduler.preemption import NodeCandidate, PreemptionEvaluator, PreemptionNotHelpful
from kohort.embedded.scheduler.requirements import RequirementsCache
from kohort.embedded.scheduler.views import SchedulerNode, SchedulerPod

Object = dict[str, Any]
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
_UIDS = count()


def node(name: str, cpu: str = "4", memory: str = "8Gi", pods: int = 110, **spec: Any) -> Object:
    """A node; `labels` and `more` (further resources) besides what stands in its spec."""
    labels = {HOST: name, **spec.pop("labels", {})}
    offered = {"cpu": cpu, "memory": memory, "pods": str(pods), **spec.pop("more", {})}
    status = {"allocatable": offered, "capacity": offered}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def pod(name: str, cpu: str = "", memory: str = "", **spec: Any) -> Object:
    """A pod; `labels`, `requests`, `ports` and `namespace` besides what stands in its spec."""
    requests = {"cpu": cpu, "memory": memory, **spec.pop("requests", {})}
    asked = {key: value for key, value in requests.items() if value}
    resources = {"requests": asked, "limits": {key: value for key, value in asked.items() if "/" in key}}
    main = {"name": "main", "image": "none", "resources": resources, "ports": spec.pop("ports", [])}
    metadata = {"name": name, "namespace": spec.pop("namespace", "default"), "labels": spec.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [main], "schedulerName": "default-scheduler", **spec},
    }


def node_affinity(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def label_in(key: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def near(key: str, **labels: str) -> Object:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(key, labels)]}}


def away(key: str, **labels: str) -> Object:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(key, labels)]}}


def rather(side: str, key: str, weight: int, **labels: str) -> Object:
    """A wish: `side` is podAffinity or podAntiAffinity."""
    wish = {"weight": weight, "podAffinityTerm": _term(key, labels)}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}


def _term(key: str, labels: dict[str, str]) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def spread(key: str, skew: int = 1, when: str = "DoNotSchedule", **labels: str) -> list[Object]:
    selector = {"matchLabels": labels}
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]


class NoStorage:
    """Storage that nobody claims."""

    def problem(self, pod: PodInfo) -> str:
        return ""

    def filter_failure(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        return None


class Site:
    """A cluster without a server."""

    def __init__(self, *nodes: Object) -> None:
        self.cache = SchedulerCache()
        self.budgets: list[DisruptionAllowance] = []
        self.placer = Placer(self.cache, NoStorage())
        self.preemptor = PreemptionEvaluator(self.cache, self.placer, lambda namespace: self.budgets)
        self._requirements = RequirementsCache()
        for each in nodes:
            self.put(each)

    def put(self, found: Object) -> None:
        self.cache.update_node(decode(encode(found), SchedulerNode))

    def record(self, found: Object, *, started: float = 0.0, leaving: bool = False) -> PodInfo:
        seen = decode(encode(found), SchedulerPod)
        key = ObjectKey(seen.metadata.namespace, seen.metadata.name)
        uid = f"uid-{next(_UIDS):06d}"
        return PodInfo(uid, key, seen.metadata.labels, self._requirements.of(seen), leaving, started)

    def settle(self, found: Object, name: str, *, started: float = 0.0, leaving: bool = False) -> PodInfo:
        """A pod that is on a node already."""
        record = self.record(found, started=started, leaving=leaving)
        self.cache.add_pod(record, name)
        return record

    def place(self, found: Object | PodInfo) -> str:
        """Put a pod on the best node; the name of the node, or why there is none."""
        record = found if isinstance(found, PodInfo) else self.record(found)
        answer = self.placer.place(record)
        if isinstance(answer, FitError):
            return answer.message
        self.cache.add_pod(record, answer.node)
        return answer.node

    def ask(self, found: Object) -> SelectedNode | FitError:
        """Where a pod would go."""
        return self.placer.place(self.record(found))

    def why_not(self, found: Object) -> str:
        answer = self.ask(found)
        assert isinstance(answer, FitError), answer
        return answer.message

    def victims(self, found: Object) -> NodeCandidate | PreemptionNotHelpful:
        """Whom a pod that fits nowhere would push out."""
        record = self.record(found)
        answer = self.placer.place(record)
        assert isinstance(answer, FitError), answer
        return self.preemptor.search(record, answer)
