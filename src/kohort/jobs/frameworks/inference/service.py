"""KServe InferenceServices: KServe copies their labels to Deployments, whose pods are queued one by one (JOB-211).

With the annotation of JOB-216 a service is queued as a whole instead: KServe removes all its pods while it is stopped.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import ROOT, FieldError, forbidden, invalid, not_supported
from kohort.api.objects import METADATA
from kohort.api.resource import Resource
from kohort.jobs.annotated_amounts import AnnotationError
from kohort.jobs.contract import ClusterReader, Finish, Framework
from kohort.jobs.defaulting.job_context import set_annotation
from kohort.jobs.errors import not_composable
from kohort.jobs.frameworks.inference.declared_pod_sets import declared_pod_sets
from kohort.jobs.frameworks.inference.types import INFERENCE_SERVICES, KNATIVE_KINDS, InferenceService
from kohort.jobs.objects import annotations, labels, queue_name, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count
from kohort.jobs.validation.labels import QUEUE_NAME

MODE_ANNOTATION: Final = "serving.kserve.io/deploymentMode"
STOP_ANNOTATION: Final = "serving.kserve.io/stop"
ADMISSION_ANNOTATION: Final = "kohort.dev/serving-admission"
WHOLE: Final = "service"
FROM_ZERO_ANNOTATION: Final = "kohort.dev/allow-scale-to-zero"
COMPONENT_LABEL: Final = "component"
"""Label of KServe's pods with the component that they belong to."""
COMPONENTS: Final = ("predictor", "transformer", "explainer")
KNATIVE_MODES: Final = frozenset({"Knative", "Serverless"})
MODEL_MESH: Final = "ModelMesh"
_ANNOTATIONS: Final = METADATA / "annotations"

WARNING: Final = (
    "an InferenceService cannot be suspended: each of its pods waits for quota on its own, and a preemption deletes a "
    "pod, whose successor waits"
)
BEST_EFFORT: Final = (
    f"metadata.annotations[{MODE_ANNOTATION}]: a Knative revision whose pods wait for quota longer than its progress "
    f"deadline fails: use Standard"
)
NO_GANG: Final = (
    "spec.predictor.workerSpec: the pods of a model on several nodes are admitted one by one, so that a part may hold "
    "quota: use a LeaderWorkerSet"
)
SURGE: Final = (
    "spec.{0}.deploymentStrategy: a rolling update needs quota for pods of both versions: set rollingUpdate.maxSurge "
    "to 0 and maxUnavailable to 1"
)


class InferenceServiceFramework(Framework):
    """The framework of InferenceServices."""

    name: ClassVar[str] = "serving.kserve.io/inferenceservice"
    resource: ClassVar[Resource] = INFERENCE_SERVICES
    view: ClassVar[type[ObjectView]] = InferenceService
    transit: ClassVar[tuple[Resource, ...]] = KNATIVE_KINDS
    implies: ClassVar[tuple[str, ...]] = ("deployment", "pod")
    dispatches: ClassVar[bool] = False
    runs_to_completion: ClassVar[bool] = False
    always_claims: ClassVar[bool] = False
    binds_pods: ClassVar[bool] = True

    @property
    def suspend_field(self) -> str:
        """The annotation by which KServe removes the pods."""
        return f"metadata.annotations[{STOP_ANNOTATION}]"

    def claims(self, obj: JsonObject) -> bool:
        """Whether the service is queued as a whole (JOB-216)."""
        return annotations(obj).get(ADMISSION_ANNOTATION) == WHOLE

    def loses_state(self, obj: JsonObject) -> bool:
        """Always: requests in progress, and the loaded weights (JOB-191)."""
        return True

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether KServe removes its pods."""
        return annotations(obj).get(STOP_ANNOTATION) == "true"

    def suspend(self, obj: JsonObject) -> None:
        """Let KServe remove its pods."""
        set_annotation(obj, STOP_ANNOTATION, "true")

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """Those of its annotation: the pods depend on a ServingRuntime."""
        try:
            return declared_pod_sets(obj)
        except AnnotationError as error:
            raise not_composable(obj, str(error)) from None

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Let KServe create its pods, which get their infos then (JOB-204)."""
        expect_count(infos, len(declared_pod_sets(obj)))
        kept = {name: value for name, value in annotations(obj).items() if name != STOP_ANNOTATION}
        obj["metadata"]["annotations"] = kept

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Nothing was added, so that the annotation need not be valid any more."""
        try:
            return len(originals) == len(declared_pod_sets(obj))
        except AnnotationError:
            return False

    def finished(self, obj: JsonObject) -> Finish | None:
        """Never: it serves until it is deleted."""
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Whether KServe has not reported that it is stopped."""
        return bool(_conditions(obj)) and _conditions(obj).get("Stopped") != "True"

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """By its condition."""
        return _conditions(obj).get("Ready") == "True"

    def bound_pod_set(self, pod: JsonObject) -> str:
        """The pod set with the name of the component."""
        return labels(pod).get(COMPONENT_LABEL, "")

    # Webhooks

    def validate_create(self, obj: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """Modes that cannot be queued (JOB-211, JOB-217), and the pod sets of a service that is queued as a whole."""
        return list(self._errors(obj)) if queue_name(obj) else []

    def _errors(self, obj: JsonObject) -> Iterator[FieldError]:
        if annotations(obj).get(MODE_ANNOTATION) == MODEL_MESH:
            yield forbidden(QUEUE_NAME, "pods of ModelMesh serve many InferenceServices: remove the label", "JOB-211")
        yield from _from_zero_errors(obj)
        admission = annotations(obj).get(ADMISSION_ANNOTATION)
        if admission not in (None, WHOLE):
            yield not_supported(_ANNOTATIONS[ADMISSION_ANNOTATION], admission, (WHOLE,), "JOB-216")
        if self.claims(obj):
            try:
                declared_pod_sets(obj)
            except AnnotationError as error:
                yield error.error

    def validate_update(self, old: JsonObject, new: JsonObject, reads: ClusterReader) -> list[FieldError]:
        """The same, and what is queued is fixed; former errors do not block an update."""
        before = self.validate_create(old, reads)
        errors = [each for each in self.validate_create(new, reads) if each not in before]
        if self.claims(old) != self.claims(new) and queue_name(old):
            path = _ANNOTATIONS[ADMISSION_ANNOTATION]
            errors.append(invalid(path, annotations(new).get(ADMISSION_ANNOTATION, ""), "cannot be changed", "JOB-216"))
        return errors

    def warnings(self, obj: JsonObject, reads: ClusterReader) -> list[str]:
        """What is queued, and where a deployment may wait for itself (JOB-211, JOB-214, JOB-215)."""
        if self.claims(obj):
            return []
        found = [WARNING]
        if annotations(obj).get(MODE_ANNOTATION) in KNATIVE_MODES:
            found.append(BEST_EFFORT)
        else:
            found += [SURGE.format(name) for name, component in _components(obj) if not _fits_twice(component)]
        if value_at(obj, ("spec", "predictor", "workerSpec")) is not None:
            found.append(NO_GANG)
        return found


def _components(obj: JsonObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name in COMPONENTS:
        component = value_at(obj, ("spec", name))
        if component is not None:
            yield name, component


def _from_zero_errors(obj: JsonObject) -> Iterator[FieldError]:
    if annotations(obj).get(FROM_ZERO_ANNOTATION) == "true":
        return
    for name, component in _components(obj):
        if component.get("minReplicas") == 0:
            detail = (
                f"the first request after an idle time would wait for quota: set 1 or more, or annotation "
                f"{FROM_ZERO_ANNOTATION} to true"
            )
            yield invalid(ROOT / "spec" / name / "minReplicas", 0, detail, "JOB-217")


def _fits_twice(component: Mapping[str, Any]) -> bool:
    """Whether a rolling update needs no quota for additional pods."""
    if value_at(component, ("deploymentStrategy", "type")) == "Recreate":
        return True
    return value_at(component, ("deploymentStrategy", "rollingUpdate", "maxSurge")) in (0, "0", "0%")


def _conditions(obj: JsonObject) -> dict[str, str]:
    found = value_at(obj, ("status", "conditions")) or ()
    return {each.get("type", ""): each.get("status", "") for each in found}
