"""`pods/binding` and `pods/eviction`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kohort.api.codec import Json, JsonObject
from kohort.api.selectors import SelectorError
from kohort.api.times import format_time
from kohort.embedded.matching import read_selector
from kohort.embedded.server.handlers.delete import check_preconditions
from kohort.embedded.server.handlers.write_pipeline import MAX_ATTEMPTS, Transform
from kohort.embedded.server.registry.store_writer import StoreWriter
from kohort.embedded.server.requests.options import DeleteRequestOptions
from kohort.embedded.server.requests.resource_request import ResourceRequest
from kohort.embedded.server.requests.write_operation import WriteOperation
from kohort.embedded.storage import RevisionConflictError, Store, StoredObject
from kohort.kube.errors import MODIFIED, ErrorSubject, StatusError, bad_request, conflict, not_found

DISRUPTION_TARGET = "DisruptionTarget"
BUDGETS = "poddisruptionbudgets.policy"
_DONE = ("Succeeded", "Failed")


def binding_update(operation: WriteOperation, binding: JsonObject) -> Transform:
    """The update that binds a pod to the node of a Binding."""
    target = binding.get("target") or {}
    node = target.get("name")
    if target.get("kind") not in (None, "", "Node") or not node:
        raise bad_request("Binding: target must name a Node")
    meant = binding.get("metadata") or {}
    annotations = meant.get("annotations") or {}

    async def change(pod: JsonObject) -> JsonObject:
        _check_uid(operation, pod, meant.get("uid"))
        _check_unbound(operation, pod)
        metadata = pod["metadata"]
        if annotations:
            metadata = {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}
        status = _scheduled(pod.get("status") or {}, format_time(operation.now))
        return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node}, "status": status}

    return change


def _check_uid(operation: WriteOperation, pod: JsonObject, uid: str | None) -> None:
    """Rejects a Binding with the UID of another pod."""
    if uid and uid != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {pod['metadata']['uid']}"
        raise conflict(ErrorSubject("pods/binding", "", operation.name), why)


def _check_unbound(operation: WriteOperation, pod: JsonObject) -> None:
    error_subject = ErrorSubject("pods/binding", "", operation.name)
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict(error_subject, f"pod {operation.name} is being deleted, cannot be assigned to a host")
    if pod["spec"].get("nodeName"):
        raise conflict(error_subject, f'pod {operation.name} is already assigned to node "{pod["spec"]["nodeName"]}"')
    if pod["spec"].get("schedulingGates"):
        raise conflict(error_subject, f"pod {operation.name} has non-empty .spec.schedulingGates")


def _disrupted(pod: JsonObject, now: str) -> JsonObject:
    status = pod.get("status") or {}
    conditions = status.get("conditions") or []
    present: JsonObject = next((each for each in conditions if each["type"] == DISRUPTION_TARGET), {})
    since = present.get("lastTransitionTime", now) if present.get("status") == "True" else now
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": None,
        "lastTransitionTime": since,
    }
    others = [each for each in conditions if each["type"] != DISRUPTION_TARGET]
    return {**pod, "status": {**status, "conditions": [*others, condition]}}


def _scheduled(status: JsonObject, now: str) -> JsonObject:
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    # A pod that is bound needs no nomination.
    kept = {name: value for name, value in status.items() if name != "nominatedNodeName"}
    return {**kept, "conditions": [*others, condition]}


class Evictions:
    """Evicts pods within their disruption budgets."""

    def __init__(self, store: Store, store_writer: StoreWriter) -> None:
        self._store = store
        self._store_writer = store_writer

    async def admit(self, call: ResourceRequest, pod: JsonObject, *, dry_run: bool) -> None:
        """Counts the eviction against the budget, or raises 429."""
        phase = (pod.get("status") or {}).get("phase")
        if phase in _DONE or phase == "Pending" or pod["metadata"].get("deletionTimestamp"):
            return
        for _ in range(MAX_ATTEMPTS):
            budgets = list(self._budgets(pod))
            if len(budgets) > 1:
                raise StatusError(
                    500,
                    "InternalError",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                )
            if not budgets:
                return
            spent = _with_disruption(budgets[0].object, pod["metadata"]["name"], format_time(call.clock()))
            if dry_run:
                return
            try:
                await self._store_writer.update(budgets[0], spent)
            except RevisionConflictError:
                continue
            return
        raise _too_many("the disruption budget is changing too fast")

    async def mark(self, operation: WriteOperation, options: DeleteRequestOptions) -> DeleteRequestOptions:
        """Sets the condition DisruptionTarget; returns the options of the delete."""
        for _ in range(MAX_ATTEMPTS):
            entry = self._store.get(operation.key())
            if entry is None:
                raise not_found(operation.error_subject)
            check_preconditions(operation, options, entry.object)
            try:
                stored = await self._store_writer.update(entry, _disrupted(entry.object, format_time(operation.now)))
            except RevisionConflictError:
                continue
            if not options.resource_version:
                return options
            return replace(options, resource_version=stored.object["metadata"]["resourceVersion"])
        raise conflict(operation.error_subject, MODIFIED)

    def _budgets(self, pod: JsonObject) -> Iterator[StoredObject]:
        labels = pod["metadata"].get("labels") or {}
        for entry in self._store.list(BUDGETS, pod["metadata"]["namespace"]).entries:
            selector = (entry.object.get("spec") or {}).get("selector")
            if selector is not None and _selects(selector, labels):
                yield entry


def _selects(selector: JsonObject, labels: Mapping[str, str]) -> bool:
    try:
        return read_selector(selector).matches(labels)
    except SelectorError:
        return False


def _with_disruption(budget: JsonObject, pod: str, now: str) -> JsonObject:
    status = budget.get("status") or {}
    name = budget["metadata"]["name"]
    if (status.get("observedGeneration") or 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.")
    allowed = status.get("disruptionsAllowed") or 0
    if allowed <= 0:
        healthy, wanted = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
        raise _too_many(
            f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently",
        )
    disrupted = {**(status.get("disruptedPods") or {}), pod: now}
    return {**budget, "status": {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}}


def _too_many(why: str) -> StatusError:
    cause: dict[str, Json] = {"reason": "DisruptionBudget", "message": why}
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return StatusError(429, "TooManyRequests", message, {"causes": [cause], "retryAfterSeconds": 10})
