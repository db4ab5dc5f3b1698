"""The disruption controller: maintains the status of PodDisruptionBudgets.

The pods of each budget are tracked incrementally, so that a pod event costs a lookup of the budgets of its namespace,
never a scan of all pods.
"""

from dataclasses import dataclass, field

from kohort.api.codec import Json, to_json
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.api.selectors import NOTHING, Selector, SelectorError, compile_selector
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruption.plan import (
    EVICTION_TIMEOUT,
    DisruptionPlan,
    counts_by_scale,
    demand,
    failed,
    plan,
)
from kohort.embedded.controllers.disruption.scales import ScaleError, Scales
from kohort.embedded.controllers.disruption.views import DisruptionBudget, DisruptionBudgetStatus
from kohort.embedded.controllers.views import ControllerPod, controller_of, key_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.patches import MergePatch

_BY_NAMESPACE = "namespace"
_UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of"
    " the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please"
    ' set ".spec.minAvailable" field of the PDB to an integer value.'
)


@dataclass(slots=True)
class _Group:
    """The pods that a budget selects."""

    selector: Selector
    pods: dict[ObjectKey, None] = field(default_factory=dict)


class DisruptionController(BuiltinController[ObjectKey]):
    """Reconciles PodDisruptionBudgets."""

    NAME = "disruption-controller"
    WORKERS = 2

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._objects = client.of(DisruptionBudget)
        self._groups: dict[str, dict[ObjectKey, _Group]] = {}
        self._scales = Scales(client, informers)
        self._budgets = informers.of(DisruptionBudget)
        self._pods = informers.of(ControllerPod)
        self._pods.index(_BY_NAMESPACE, _namespace)
        self._budgets.subscribe(self._on_budget)
        self._pods.subscribe(self._on_pod)

    # Membership

    def _on_budget(self, old: DisruptionBudget | None, new: DisruptionBudget | None) -> None:
        if new is None:
            if old is not None:
                self._groups.get(old.metadata.namespace, {}).pop(key_of(old.metadata), None)
            return
        key = key_of(new.metadata)
        if old is None or old.spec.selector != new.spec.selector:
            self._groups.setdefault(key.namespace, {})[key] = self._group(new)
        self._queue.add(key)

    def _group(self, budget: DisruptionBudget) -> _Group:
        try:
            selector = compile_selector(budget.spec.selector)
        except SelectorError:
            selector = NOTHING
        pods = self._pods.cache.find(_BY_NAMESPACE, budget.metadata.namespace)
        return _Group(selector, {pod.key: None for pod in pods if selector.matches(pod.metadata.labels)})

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        pod = new or old
        if pod is None:
            return
        key = pod.key
        for budget, group in self._groups.get(key.namespace, {}).items():
            belonged = key in group.pods
            belongs = new is not None and group.selector.matches(new.metadata.labels)
            if belongs:
                group.pods[key] = None
            elif belonged:
                del group.pods[key]
            if belongs != belonged or (belongs and _figure(old) != _figure(new)):
                self._queue.add(budget)

    # Reconciliation

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Updates the status of a budget."""
        budget = self._budgets.cache.get(key)
        if budget is None:
            return None
        pods = self._members(key)
        try:
            found = await self._plan(budget, pods)
        except (ScaleError, ApiError) as error:
            note = EventToRecord(
                "Warning",
                "CalculateExpectedPodCountFailed",
                f"Failed to calculate the number of expected pods: {error}",
            )
            self._recorder.record(reference_to(budget), note)
            await self._write(budget, failed(budget, str(error), self._clock.wall()))
            return None
        for pod in found.overdue:
            message = f"Pod was expected by PDB {key.namespace}/{key.namespace} to be deleted but it wasn't"
            self._recorder.record(reference_to(pod), EventToRecord("Warning", "NotDeleted", message))
        await self._write(budget, found.status)
        if found.recheck is None:
            return None
        wait = (found.recheck - self._clock.wall()).total_seconds()
        return RequeueAfter(min(max(wait, 0.0) + 1.0, EVICTION_TIMEOUT.total_seconds()))

    def _members(self, key: ObjectKey) -> list[ControllerPod]:
        group = self._groups.get(key.namespace, {}).get(key)
        found = (self._pods.cache.get(pod) for pod in group.pods) if group else ()
        return [pod for pod in found if pod is not None]

    async def _plan(self, budget: DisruptionBudget, pods: list[ControllerPod]) -> DisruptionPlan:
        if not pods:
            self._recorder.record(reference_to(budget), EventToRecord("Normal", "NoPods", "No matching pods found"))
        expected = len(pods)
        if counts_by_scale(budget):
            self._record_unmanaged(budget, pods)
            expected = await self._scales.total(pods)
        return plan(budget, pods, demand(budget, expected), self._clock.wall())

    def _record_unmanaged(self, budget: DisruptionBudget, pods: list[ControllerPod]) -> None:
        if any(controller_of(pod.metadata) is None for pod in pods):
            selector = to_json(budget.spec.selector)
            self._recorder.record(
                reference_to(budget), EventToRecord("Warning", "UnmanagedPods", _UNMANAGED.format(selector))
            )

    async def _write(self, budget: DisruptionBudget, status: DisruptionBudgetStatus) -> None:
        """Writes changes with the observed resourceVersion: the eviction API writes this status too."""
        if status == budget.status:
            return
        body = _body(budget.status, status)
        patch = MergePatch({"metadata": {"resourceVersion": budget.metadata.resource_version}, "status": body})
        await self._objects.patch(key_of(budget.metadata), patch, subresource="status")


def _body(old: DisruptionBudgetStatus, new: DisruptionBudgetStatus) -> dict[str, Json]:
    """The status as a merge patch, with nulls for removed keys."""
    zeros = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    gone = dict.fromkeys(old.disrupted_pods.keys() - new.disrupted_pods.keys())
    reported = to_json(new)
    return {**zeros, **reported, "disruptedPods": {**reported["disruptedPods"], **gone} if new.disrupted_pods else None}


def _namespace(pod: ControllerPod) -> tuple[str, ...]:
    return (pod.metadata.namespace,)


def _figure(pod: ControllerPod | None) -> tuple[object, ...] | None:
    """The fields of a pod that a budget's status depends on."""
    return None if pod is None else (pod.is_ready, pod.is_terminating, controller_of(pod.metadata))
