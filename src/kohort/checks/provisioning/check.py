"""The controller of ProvisioningRequest checks (MK-17 to MK-31): one current request per check of a Workload."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.errors import ApiError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.v1beta2 import AdmissionCheck, ProvisioningRequestConfig, ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.checks import PROVISIONING_CONTROLLER, ProvisioningRequestConfigSpec
from kohort.api.meta import ObjectKey
from kohort.checks.contract import (
    ACTIVE,
    AdmissionCheckController,
    CheckedWorkload,
    CheckEnvironment,
    CheckResult,
    CheckState,
)
from kohort.checks.provisioning.names import REQUESTS, request_name
from kohort.checks.provisioning.pod_sets import RequestedPodSet, requested_pod_sets
from kohort.checks.provisioning.requests import controller_uid, current_request, is_of_check
from kohort.checks.provisioning.states import next_attempt, result_of
from kohort.checks.provisioning.writer import NotYetGoneError, RequestWriter
from kohort.controllers.served_kinds import KindAvailability, ServedKinds, definition_name
from kohort.engine.lifecycle.conditions import ConditionState, condition_false, is_finished
from kohort.engine.lifecycle.events import normal, warning
from kohort.kube.backoff import Backoff
from kohort.kube.errors import KubeError
from kohort.kube.informer import Informer

NOT_NEEDED: Final = CheckResult(CheckState.READY, "the provisioning request is not needed")
NOT_ACTIVE: Final = CheckResult(CheckState.PENDING, "the check is not active")
_OWNER: Final = "workload"
_BACKOFF: Final = Backoff(base=1.0, cap=300.0, jitter=0.0)
_OBSERVE_DELAY: Final = timedelta(seconds=1)
"""Delay before the next attempt while an object of the same name is not gone or not observed yet."""


class ProvisioningCheck(AdmissionCheckController):
    """Requests nodes from an autoscaler for each Workload, and passes once they are provisioned."""

    controller_name: ClassVar[str] = PROVISIONING_CONTROLLER

    def __init__(self, gates: FeatureGates) -> None:
        self._gates = gates
        self._failures: dict[str, int] = {}
        """Failed creations in a row, by UID of the Workload."""

    def start(self, environment: CheckEnvironment) -> None:
        """Watch requests while their kind is served, and the objects that configure them."""
        self._environment = environment
        self._writer = RequestWriter(environment.client)
        informers = environment.informers
        self._configs: Informer[ProvisioningRequestConfig] = informers.of(ProvisioningRequestConfig)
        self._flavors: Informer[ResourceFlavor] = informers.of(ResourceFlavor)
        self._requests = informers.of(REQUESTS)
        self._requests.index(_OWNER, _owner)
        informers.pause(self._requests)
        self._requests.subscribe(self._request_changed)
        self._configs.subscribe(self._config_changed)
        self._was_served: bool | None = None
        self._served = ServedKinds(informers)
        self._served.subscribe(self._definitions_changed)

    @property
    def is_ready(self) -> bool:
        """Whether requests, if they are served, and the objects that configure them are known."""
        caches = (self._configs.synced, self._flavors.synced, self._requests.synced or not self._is_served)
        return self._served.is_synced and all(caches)

    def active(self, check: AdmissionCheck) -> ConditionState:
        """MK-17."""
        if not self._is_served:
            missing = f"the API server does not serve {definition_name(REQUESTS)} {REQUESTS.version}"
            remedy = "install the CustomResourceDefinition of the cluster autoscaler"
            return condition_false("ProvisioningRequestNotServed", f"{missing}: {remedy}")
        parameters = check.spec.parameters if check.spec is not None else None
        if parameters is None:
            return condition_false("BadParametersRef", "spec.parameters must refer to a ProvisioningRequestConfig")
        if (parameters.api_group, parameters.kind) != (GROUP, ProvisioningRequestConfig.info.resource.kind):
            given = f"{parameters.kind}.{parameters.api_group}"
            return condition_false(
                "BadParametersRef", f"spec.parameters must refer to a ProvisioningRequestConfig.{GROUP}, not {given}"
            )
        if self._config(check) is None:
            return condition_false("BadParametersRef", f"ProvisioningRequestConfig {parameters.name} not found")
        return ACTIVE

    async def evaluate(self, subject: CheckedWorkload) -> CheckResult | None:
        """Request nodes, and follow the current request."""
        config = self._config(subject.check)
        if config is None or not self._is_served:
            return NOT_ACTIVE
        pod_sets = requested_pod_sets(subject.workload, config, lambda name: self._flavors.cache.get(("", name)))
        owned = self._owned(subject.workload)
        current = current_request(subject.workload, subject.entry.name, config, owned) if pod_sets else None
        await self._delete_outdated(subject, owned, current)
        if not pod_sets:
            return NOT_NEEDED
        attempt = next_attempt(subject, current)
        if attempt is not None:
            return await self._create(subject, config, pod_sets, attempt)
        return result_of(subject, current, config, pod_sets) if current is not None else None

    async def release(self, workload: Workload) -> None:
        """Delete the requests of a Workload that is finished or, with the gate, evicted (MK-29)."""
        self._failures.pop(workload.metadata.uid, None)
        if is_finished(workload) or self._gates.enabled(Gate.CleanupProvisioningRequestsOnEviction):
            for each in self._owned(workload):
                await self._writer.delete(workload, each)

    async def _delete_outdated(
        self, subject: CheckedWorkload, owned: Sequence[JsonObject], current: JsonObject | None
    ) -> None:
        """Delete the other requests of this check, and those of checks that the Workload no longer has (MK-24)."""
        others = {each.name for each in subject.workload.status.admission_checks} - {subject.entry.name}
        for each in owned:
            is_of_other = any(is_of_check(each, subject.workload, name) for name in others)
            if each is not current and not is_of_other:
                await self._writer.delete(subject.workload, each)

    async def _create(
        self,
        subject: CheckedWorkload,
        config: ProvisioningRequestConfigSpec,
        pod_sets: Sequence[RequestedPodSet],
        attempt: int,
    ) -> CheckResult:
        """Create a request; a failure is reported in the check's message and tried again with backoff (MK-30)."""
        workload, uid = subject.workload, subject.workload.metadata.uid
        name = request_name(workload.metadata.name, subject.entry.name, attempt)
        try:
            await self._writer.create(workload, name, attempt, config, pod_sets)
        except NotYetGoneError:
            return CheckResult(CheckState.PENDING, subject.entry.message, recheck_after=_OBSERVE_DELAY)
        except (KubeError, ApiError) as error:
            failures = self._failures[uid] = self._failures.get(uid, 0) + 1
            message = f"Error creating ProvisioningRequest {name}: {error}"
            self._environment.record(workload, warning("FailedCreate", message))
            delay = timedelta(seconds=_BACKOFF.steady(failures))
            return CheckResult(CheckState.PENDING, message, recheck_after=delay)
        self._failures.pop(uid, None)
        self._environment.record(workload, normal("ProvisioningRequestCreated", f"Created ProvisioningRequest: {name}"))
        return CheckResult(CheckState.PENDING)

    # Caches

    @property
    def _is_served(self) -> bool:
        return self._served.availability(REQUESTS) is KindAvailability.SERVED

    def _config(self, check: AdmissionCheck) -> ProvisioningRequestConfigSpec | None:
        parameters = check.spec.parameters if check.spec is not None else None
        found = self._configs.cache.get(("", parameters.name)) if parameters is not None else None
        is_config = parameters is not None and (parameters.api_group, parameters.kind) == (
            GROUP,
            ProvisioningRequestConfig.info.resource.kind,
        )
        return found.spec if found is not None and is_config else None

    def _owned(self, workload: Workload) -> Sequence[JsonObject]:
        return list(self._requests.cache.find(_OWNER, workload.metadata.uid))

    # Events

    def _request_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        shown = new or old or {}
        for owner in (shown.get("metadata") or {}).get("ownerReferences") or ():
            if owner.get("controller") and owner.get("kind") == Workload.info.resource.kind:
                self._environment.enqueue(ObjectKey(shown["metadata"].get("namespace", ""), owner.get("name", "")))

    def _config_changed(self, old: ProvisioningRequestConfig | None, new: ProvisioningRequestConfig | None) -> None:
        shown = new or old
        for check in self._environment.checks.cache:
            parameters = check.spec.parameters if check.spec is not None else None
            if shown is not None and parameters is not None and parameters.name == shown.metadata.name:
                self._environment.enqueue_check(check.metadata.name)

    def _definitions_changed(self) -> None:
        """Watch requests while they are served."""
        if self._is_served is self._was_served:
            return
        self._was_served = self._is_served
        informers = self._environment.informers
        if self._is_served:
            informers.resume(self._requests)
        else:
            informers.pause(self._requests)
        for check in self._environment.checks.cache:
            self._environment.enqueue_check(check.metadata.name)


def _owner(request: JsonObject) -> Iterable[str]:
    uid = controller_uid(request)
    return (uid,) if uid else ()
