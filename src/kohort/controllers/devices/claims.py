"""Device claims of pods, counted as the resources to which the Configuration maps device classes (API-124).

Pure: the caller has read the claim templates. Problems are reported as Kubernetes field errors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kohort.api.amounts import add, to_amount
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.pods import PodResourceClaim
from kohort.api.errors import ApiError
from kohort.api.fields import FieldError, Path, forbidden, invalid
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSet
from kohort.api.resource import Resource
from kohort.engine.lifecycle import reasons
from kohort.engine.lifecycle.conditions import REQUEUED, condition

TEMPLATES: Final = Resource("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True)
INTEGRATION_DISABLED: Final = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
CLAIMS_UNSUPPORTED: Final = "KueueDRAIntegration feature does not support use of resource claims"
_CLAIMS: Final = b'"resourceClaims"'
_REQUESTS: Final = Path("devices") / "requests"

Spec = Mapping[str, Any]
"""The spec of a ResourceClaimTemplate's claim, as JSON."""


class UncountableError(Exception):
    """Claims of a Workload cannot be counted; the message is for its condition."""


class ClaimTemplateUnavailableError(UncountableError):
    """A claim template does not exist or cannot be read now; retrying may help."""


@dataclass(frozen=True, slots=True)
class DeviceResources:
    """The quota resource for the devices of each class."""

    resources: Mapping[str, str]
    measured: frozenset[str]
    """Classes that are counted by counters or capacities, not by device."""

    @staticmethod
    def of(configuration: Configuration) -> "DeviceResources":
        """Read `resources.deviceClassMappings`; the first mapping of a class applies."""
        mappings = configuration.resources.device_class_mappings if configuration.resources else ()
        named = [(name, mapping) for mapping in mappings for name in mapping.device_class_names]
        resources = {name: mapping.name for name, mapping in reversed(named)}
        return DeviceResources(resources, frozenset(name for name, mapping in named if mapping.sources))


def has_claims(workload: Workload) -> bool:
    """Whether pods of the Workload claim devices; searches bytes first, because it runs for every Workload event."""
    for pod_set in workload.spec.pod_sets:
        if _CLAIMS in bytes(pod_set.template) and any(
            claim.resource_claim_name or claim.resource_claim_template_name for claim in _claimed(pod_set)
        ):
            return True
    return False


def are_counted(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the claims of the Workload are to be counted."""
    return gates.enabled(Gate.KueueDRAIntegration) and not _shared_claim(workload)


def rejection(workload: Workload, gates: FeatureGates) -> str:
    """Why the claims are rejected without counting; empty if they are not."""
    if not gates.enabled(Gate.KueueDRAIntegration):
        return INTEGRATION_DISABLED if gates.enabled(Gate.KueueDRARejectWorkloadsWhenDRADisabled) else ""
    named = _shared_claim(workload)
    return f"{CLAIMS_UNSUPPORTED}: {named}; name a ResourceClaimTemplate instead" if named else ""


def claims_problem(workload: Workload, gates: FeatureGates) -> str:
    """Why the Workload cannot be queued, from its Requeued condition if counting failed; empty if it can."""
    if not has_claims(workload):
        return ""
    if not are_counted(workload, gates):
        return rejection(workload, gates)
    requeued = condition(workload, REQUEUED)
    is_kept_out = requeued is not None and requeued.status == "False" and requeued.reason == reasons.INADMISSIBLE
    return requeued.message if requeued is not None and is_kept_out else ""


def templates_of(workload: Workload) -> tuple[str, ...]:
    """The claim templates that pods of the Workload reference."""
    return tuple(dict.fromkeys(name for pod_set in workload.spec.pod_sets for _, name in _templates(pod_set)))


def count(
    workload: Workload, templates: Mapping[str, Spec | str], mapped: DeviceResources
) -> dict[str, dict[str, int]]:
    """The devices claimed by one pod of each pod set, in internal units; raises UncountableError.

    `templates` has the claim spec of each template, or why it could not be read.
    """
    counted: dict[str, dict[str, int]] = {}
    for index, pod_set in enumerate(workload.spec.pod_sets):
        path = (Path("spec") / "podSets")[index] / "template" / "spec" / "resourceClaims"
        for index, name in _templates(pod_set):
            for resource, amount in _Claim(path[index], pod_set.name, name).count(templates[name], mapped):
                amounts = counted.setdefault(pod_set.name, {})
                amounts[resource] = add(amounts.get(resource, 0), amount)
    return counted


@dataclass(frozen=True, slots=True)
class _Claim:
    """One entry of a pod's `resourceClaims`."""

    path: Path
    pod_set: str
    template: str

    @property
    def _subject(self) -> str:
        return f"ResourceClaimTemplate {self.template} in podset {self.pod_set}"

    def count(self, spec: Spec | str, mapped: DeviceResources) -> Iterator[tuple[str, int]]:
        if isinstance(spec, str):
            raise ClaimTemplateUnavailableError(
                f"{self.path}: Internal error: failed to get claim spec for {self._subject}: {spec}"
            )
        requests = (spec.get("devices") or {}).get("requests") or ()
        devices = [self._devices(request, index) for index, request in enumerate(requests)]
        for name, amount in devices:
            if name:
                resource = self._resource(name, mapped)
                yield resource, to_amount(resource, str(amount))

    def _devices(self, request: Mapping[str, Any], index: int) -> tuple[str, int]:
        """Class and number of the devices of one request."""
        problem = _request_problem(request, _REQUESTS[index])
        if problem is not None:
            detail = f"ResourceClaimTemplate {self.template}: {problem.detail}"
            raise UncountableError(f"{self.path}.{replace(problem, detail=detail)}")
        exactly = request["exactly"]
        return exactly.get("deviceClassName") or "", int(exactly.get("count") or 1)

    def _resource(self, name: str, mapped: DeviceResources) -> str:
        index = self.path / "resourceClaimTemplateName"
        resource = mapped.resources.get(name)
        if resource is None:
            unknown = f"DeviceClass {name} is not mapped in DRA configuration for podset {self.pod_set}"
            raise UncountableError(f'{index}: Not found: "{unknown}"')
        if name in mapped.measured:
            detail = f"{self._subject}: DeviceClass {name} counts by counters or capacities, which is not supported"
            raise UncountableError(str(forbidden(index, f"{detail}; map it without sources")))
        return resource


def _request_problem(request: Mapping[str, Any], path: Path) -> FieldError | None:
    """The unsupported part of a device request, or None."""
    exactly = request.get("exactly")
    if request.get("firstAvailable"):
        return invalid(path, None, "FirstAvailable device selection is not supported")
    if exactly is None:
        return invalid(path, None, "Exactly must be set if FirstAvailable is nil")
    if exactly.get("adminAccess"):
        return invalid(path / "exactly" / "adminAccess", None, "AdminAccess is not supported")
    mode = exactly.get("allocationMode") or "ExactCount"
    index = path / "exactly" / "allocationMode"
    if mode == "All":
        return invalid(index, mode, "AllocationMode 'All' is not supported")
    return None if mode == "ExactCount" else invalid(index, mode, f"unsupported allocation mode: {mode}")


def _claimed(pod_set: PodSet) -> tuple[PodResourceClaim, ...]:
    """The claims of a pod; none if the pod template is invalid, which is reported elsewhere."""
    try:
        return pod_set.pod_template.spec.resource_claims
    except ApiError:
        return ()


def _templates(pod_set: PodSet) -> Iterator[tuple[int, str]]:
    """Indexes and names of the claim templates of a pod set."""
    claims = enumerate(_claimed(pod_set))
    return ((index, name) for index, each in claims if (name := each.resource_claim_template_name))


def _shared_claim(workload: Workload) -> str:
    """The first ResourceClaim that is referenced directly, with its pod set; empty if there is none."""
    for pod_set in workload.spec.pod_sets:
        for each in _claimed(pod_set):
            if each.resource_claim_name:
                return f"ResourceClaim {each.resource_claim_name} in podset {pod_set.name}"
    return ""
