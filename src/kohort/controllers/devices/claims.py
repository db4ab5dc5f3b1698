"""Claims of pods on devices, counted in the resources that the Configuration gives to device classes (API-124).

Pure: whoever calls has read the claim templates. What can't be counted is told in Kubernetes' words for fields.
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
INTEGRATION_IS_OFF: Final = "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"
NAMES_A_CLAIM: Final = "KueueDRAIntegration feature does not support use of resource claims"
_CLAIMS: Final = b'"resourceClaims"'
_REQUESTS: Final = Path("devices") / "requests"

Spec = Mapping[str, Any]
"""The claim that a template makes for each pod, as the API server gives it."""


class UncountableError(Exception):
    """Claims of a Workload can't be counted; the text is for its condition."""


class ClaimTemplateUnavailableError(UncountableError):
    """A claim template is not there, or can't be read now: it is worth another look."""


@dataclass(frozen=True, slots=True)
class DeviceResources:
    """As which resource of quota the devices of each class count."""

    resources: Mapping[str, str]
    measured: frozenset[str]
    """Classes that count by counters or capacities of their devices, not by the device."""

    @staticmethod
    def of(configuration: Configuration) -> "DeviceResources":
        """Read `resources.deviceClassMappings`; the first mapping that names a class counts."""
        mappings = configuration.resources.device_class_mappings if configuration.resources else ()
        named = [(name, mapping) for mapping in mappings for name in mapping.device_class_names]
        resources = {name: mapping.name for name, mapping in reversed(named)}
        return DeviceResources(resources, frozenset(name for name, mapping in named if mapping.sources))


def has_claims(workload: Workload) -> bool:
    """Whether pods of the Workload claim devices; asked of every state of every Workload, so bytes are asked first."""
    for pod_set in workload.spec.pod_sets:
        if _CLAIMS in bytes(pod_set.template) and any(
            claim.resource_claim_name or claim.resource_claim_template_name for claim in _claimed(pod_set)
        ):
            return True
    return False


def are_counted(workload: Workload, gates: FeatureGates) -> bool:
    """Whether the Workload waits for its claims to be counted, because nothing else is wrong with them."""
    return gates.enabled(Gate.KueueDRAIntegration) and not _named_claim(workload)


def refusal(workload: Workload, gates: FeatureGates) -> str:
    """Why the Workload's claims are refused without a look at them; empty where they are not."""
    if not gates.enabled(Gate.KueueDRAIntegration):
        return INTEGRATION_IS_OFF if gates.enabled(Gate.KueueDRARejectWorkloadsWhenDRADisabled) else ""
    named = _named_claim(workload)
    return f"{NAMES_A_CLAIM}: {named}; name a ResourceClaimTemplate instead" if named else ""


def claims_problem(workload: Workload, gates: FeatureGates) -> str:
    """Why the Workload is kept out of the queue; who counted its claims in vain has written it down there."""
    if not has_claims(workload):
        return ""
    if not are_counted(workload, gates):
        return refusal(workload, gates)
    told = condition(workload, REQUEUED)
    is_kept_out = told is not None and told.status == "False" and told.reason == reasons.INADMISSIBLE
    return told.message if told is not None and is_kept_out else ""


def templates_of(workload: Workload) -> tuple[str, ...]:
    """The claim templates that pods of the Workload name."""
    return tuple(dict.fromkeys(name for pod_set in workload.spec.pod_sets for _, name in _templates(pod_set)))


def count(
    workload: Workload, templates: Mapping[str, Spec | str], mapped: DeviceResources
) -> dict[str, dict[str, int]]:
    """What one pod of each pod set claims, in internal units; raises UncountableError.

    `templates` has what each template claims, or why it could not be read.
    """
    counted: dict[str, dict[str, int]] = {}
    for index, pod_set in enumerate(workload.spec.pod_sets):
        path = (Path("spec") / "podSets")[index] / "template" / "spec" / "resourceClaims"
        for place, name in _templates(pod_set):
            for resource, amount in _Claim(path[place], pod_set.name, name).count(templates[name], mapped):
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
    def _who(self) -> str:
        return f"ResourceClaimTemplate {self.template} in podset {self.pod_set}"

    def count(self, spec: Spec | str, mapped: DeviceResources) -> Iterator[tuple[str, int]]:
        if isinstance(spec, str):
            raise ClaimTemplateUnavailableError(
                f"{self.path}: Internal error: failed to get claim spec for {self._who}: {spec}"
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
        place = self.path / "resourceClaimTemplateName"
        resource = mapped.resources.get(name)
        if resource is None:
            unknown = f"DeviceClass {name} is not mapped in DRA configuration for podset {self.pod_set}"
            raise UncountableError(f'{place}: Not found: "{unknown}"')
        if name in mapped.measured:
            detail = f"{self._who}: DeviceClass {name} counts by counters or capacities, which is not supported"
            raise UncountableError(str(forbidden(place, f"{detail}; map it without sources")))
        return resource


def _request_problem(request: Mapping[str, Any], path: Path) -> FieldError | None:
    """What is not supported of a request for devices."""
    exactly = request.get("exactly")
    if request.get("firstAvailable"):
        return invalid(path, None, "FirstAvailable device selection is not supported")
    if exactly is None:
        return invalid(path, None, "Exactly must be set if FirstAvailable is nil")
    if exactly.get("adminAccess"):
        return invalid(path / "exactly" / "adminAccess", None, "AdminAccess is not supported")
    mode = exactly.get("allocationMode") or "ExactCount"
    place = path / "exactly" / "allocationMode"
    if mode == "All":
        return invalid(place, mode, "AllocationMode 'All' is not supported")
    return None if mode == "ExactCount" else invalid(place, mode, f"unsupported allocation mode: {mode}")


def _claimed(pod_set: PodSet) -> tuple[PodResourceClaim, ...]:
    """The claims of a pod; of a template that can't be read none, since that is told as the Workload's obstacle."""
    try:
        return pod_set.pod_template.spec.resource_claims
    except ApiError:
        return ()


def _templates(pod_set: PodSet) -> Iterator[tuple[int, str]]:
    """Places and names of the claim templates of a pod set."""
    claims = enumerate(_claimed(pod_set))
    return ((place, name) for place, each in claims if (name := each.resource_claim_template_name))


def _named_claim(workload: Workload) -> str:
    """The first claim that pods share, and whose; empty where none is named."""
    for pod_set in workload.spec.pod_sets:
        for each in _claimed(pod_set):
            if each.resource_claim_name:
                return f"ResourceClaim {each.resource_claim_name} in podset {pod_set.name}"
    return ""
