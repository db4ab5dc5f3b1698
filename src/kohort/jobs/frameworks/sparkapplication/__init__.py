"""SparkApplication of the Kubeflow Spark Operator, `sparkoperator.k8s.io/v1beta2` (§17.6).

Its pods have no templates: these are made of the fields from which the operator and Spark make the pods.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from kohort.api.codec import JsonObject
from kohort.api.core.objects import ObjectView
from kohort.api.fields import FieldError
from kohort.api.gates import Gate
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish
from kohort.jobs.frameworks.sparkapplication.node_selector import put_selector_back, take_selector
from kohort.jobs.frameworks.sparkapplication.roles import (
    EXECUTOR,
    ROLES,
    SparkRole,
    merge_role,
    pod_template,
    restore_role,
)
from kohort.jobs.frameworks.sparkapplication.types import SparkApplication
from kohort.jobs.frameworks.sparkapplication.validation import application_errors, executor_count
from kohort.jobs.objects import metadata, value_at
from kohort.jobs.podsets import JobPodSet, PodSetInfo, expect_count
from kohort.jobs.templated import OnceQueuedFramework, PodTemplatePlace
from kohort.jobs.topology import topology_request

COMPLETED: Final = "COMPLETED"
_ENDED: Final = frozenset({COMPLETED, "FAILED", "SUBMISSION_FAILED"})
_RUNNING: Final = "RUNNING"
_ACTIVE: Final = frozenset({_RUNNING, "SUSPENDING"})
_READY_EXECUTORS: Final = frozenset({_RUNNING, COMPLETED})


class SparkApplicationFramework(OnceQueuedFramework):
    """The framework of SparkApplications."""

    name: ClassVar[str] = "sparkoperator.k8s.io/sparkapplication"
    resource: ClassVar[Resource] = SparkApplication.resource
    view: ClassVar[type[ObjectView]] = SparkApplication
    gate: ClassVar[Gate | None] = Gate.SparkApplicationIntegration
    dispatches: ClassVar[bool] = False

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The templates of both roles; most pods are made without one."""
        return [PodTemplatePlace(each.name, _count(obj, each), each.fields(obj), ("template",)) for each in ROLES]

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The driver and the executors, with templates made of their fields (JOB-141)."""
        templates = ((each, pod_template(obj, each)) for each in ROLES)
        return [
            JobPodSet(each.name, _count(obj, each), template, None, topology_request(template, reads.gates))
            for each, template in templates
        ]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Merge the infos and the node selector of the application into the roles (JOB-142)."""
        expect_count(infos, len(ROLES))
        selector = take_selector(obj)
        for role, info in zip(ROLES, infos, strict=True):
            merge_role(role, role.fields(obj), info, selector)
        obj["spec"]["suspend"] = False

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Restore both roles, the number of executors, and the node selector of the application (JOB-142, DEV-15)."""
        fields = [value_at(obj, ("spec", role.name)) for role in ROLES]
        if len(originals) != len(ROLES) or not all(isinstance(each, dict) for each in fields):
            return False
        for role, each, original in zip(ROLES, fields, originals, strict=True):
            restore_role(role, each, original)
        executors = originals[-1].count
        if executor_count(obj) != executors:
            obj["spec"][EXECUTOR.name]["instances"] = executors
        put_selector_back(obj)
        return True

    def finished(self, obj: JsonObject) -> Finish | None:
        """By state (JOB-143)."""
        state = _state(obj)
        if state not in _ENDED:
            return None
        message = value_at(obj, ("status", "applicationState", "errorMessage"))
        return Finish(success=state == COMPLETED, message=message or "")

    def is_active(self, obj: JsonObject) -> bool:
        """Whether it runs, or its pods are being deleted (JOB-143, DEV-15)."""
        return _state(obj) in _ACTIVE

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Whether the driver and all executors run or have ended (JOB-143)."""
        states = (value_at(obj, ("status", "executorState")) or {}).values()
        ready = sum(each in _READY_EXECUTORS for each in states)
        return _state(obj) == _RUNNING and ready >= executor_count(obj)

    def pod_selector(self, obj: JsonObject) -> str:
        """The driver and the executors."""
        return f"sparkoperator.k8s.io/app-name={metadata(obj)['name']}"

    def errors(self, obj: JsonObject, reads: ClusterReader) -> Iterator[FieldError]:
        """JOB-144."""
        yield from application_errors(obj, reads.gates)


def _count(obj: JsonObject, role: SparkRole) -> int:
    return executor_count(obj) if role is EXECUTOR else 1


def _state(obj: JsonObject) -> str:
    return value_at(obj, ("status", "applicationState", "state")) or ""
