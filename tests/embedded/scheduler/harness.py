"""Builders of nodes and pods, and a scheduler cache to place them in."""

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
    """A node; besides fields of its spec, `labels` and `more` (further resources)."""
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
    """A pod; besides fields of its spec, `labels`, `requests`, `ports` and `namespace`."""
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


def pod_affinity(key: str, **labels: str) -> Object:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(key, labels)]}}


def pod_anti_affinity(key: str, **labels: str) -> Object:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term(key, labels)]}}


def preferred_pod_affinity(side: str, key: str, weight: int, **labels: str) -> Object:
    """A preference; `side` is podAffinity or podAntiAffinity."""
    term = {"weight": weight, "podAffinityTerm": _term(key, labels)}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def _term(key: str, labels: dict[str, str]) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def topology_spread(key: str, skew: int = 1, when: str = "DoNotSchedule", **labels: str) -> list[Object]:
    selector = {"matchLabels": labels}
    return [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}]


class NoVolumes:
    """Volume binding for pods without volumes."""

    def problem(self, pod: PodInfo) -> str:
        return ""

    def filter_failure(self, pod: PodInfo, node: NodeInfo) -> FilterFailure | None:
        return None


class SchedulerHarness:
    """The scheduler's cache and placement without an API server."""

    def __init__(self, *nodes: Object) -> None:
        self.cache = SchedulerCache()
        self.budgets: list[DisruptionAllowance] = []
        self.placer = Placer(self.cache, NoVolumes())
        self.preemptor = PreemptionEvaluator(self.cache, self.placer, lambda namespace: self.budgets)
        self._requirements = RequirementsCache()
        for each in nodes:
            self.add_node(each)

    def add_node(self, found: Object) -> None:
        self.cache.update_node(decode(encode(found), SchedulerNode))

    def pod_info(self, found: Object, *, started: float = 0.0, leaving: bool = False) -> PodInfo:
        seen = decode(encode(found), SchedulerPod)
        key = ObjectKey(seen.metadata.namespace, seen.metadata.name)
        uid = f"uid-{next(_UIDS):06d}"
        return PodInfo(uid, key, seen.metadata.labels, self._requirements.of(seen), leaving, started)

    def add_pod(self, found: Object, name: str, *, started: float = 0.0, leaving: bool = False) -> PodInfo:
        """Add a pod that is bound to a node."""
        record = self.pod_info(found, started=started, leaving=leaving)
        self.cache.add_pod(record, name)
        return record

    def place(self, found: Object | PodInfo) -> str:
        """Place a pod; returns the node's name, or the message of the fit error."""
        record = found if isinstance(found, PodInfo) else self.pod_info(found)
        answer = self.placer.place(record)
        if isinstance(answer, FitError):
            return answer.message
        self.cache.add_pod(record, answer.node)
        return answer.node

    def find_node(self, found: Object) -> SelectedNode | FitError:
        """The node that would be selected."""
        return self.placer.place(self.pod_info(found))

    def fit_error(self, found: Object) -> str:
        answer = self.find_node(found)
        assert isinstance(answer, FitError), answer
        return answer.message

    def victims(self, found: Object) -> NodeCandidate | PreemptionNotHelpful:
        """The victims of preemption for an unschedulable pod."""
        record = self.pod_info(found)
        answer = self.placer.place(record)
        assert isinstance(answer, FitError), answer
        return self.preemptor.search(record, answer)
