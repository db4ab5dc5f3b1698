"""Validation of SparkApplications that are queued (JOB-141, JOB-144)."""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, FieldError, invalid
from kohort.api.gates import FeatureGates, Gate
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.frameworks.sparkapplication.requests import ACCOUNTING_ANNOTATION, AMOUNTS, amount_error
from kohort.jobs.frameworks.sparkapplication.roles import DRIVER, EXECUTOR, ROLES, SPEC, SparkRole, pod_template
from kohort.jobs.objects import LARGEST_INT32, annotations, value_at
from kohort.jobs.validation.topology import LocatedTemplate, grouping_errors, topology_errors

RULE = "JOB-144"


def application_errors(obj: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    """All errors of an application."""
    mode = value_at(obj, ("spec", "mode")) or ""
    if mode != "cluster":
        yield invalid(SPEC / "mode", mode, "a queued SparkApplication runs its driver in a pod: write cluster", RULE)
    if value_at(obj, ("spec", "dynamicAllocation", "enabled")) is True:
        why = "Spark would start executors without quota: remove it, and set executor.instances"
        yield invalid(SPEC / "dynamicAllocation" / "enabled", value=True, detail=why, rule=RULE)
    accounting = annotations(obj).get(ACCOUNTING_ANNOTATION, "false")
    if accounting not in ("true", "false"):
        path = (ROOT / "metadata" / "annotations")[ACCOUNTING_ANNOTATION]
        yield invalid(path, accounting, "must be true or false", "DEV-4")
    for role in ROLES:
        yield from _role_errors(obj, role)
    yield from _topology_errors(obj, gates)


def _role_errors(obj: JsonObject, role: SparkRole) -> Iterator[FieldError]:
    try:
        fields = role.fields(obj)
    except InvalidFieldError as error:
        yield error.error
        return
    yield from filter(None, (amount_error(fields, name, role.path) for name in AMOUNTS))
    count = executor_count(obj) if role is EXECUTOR else 0
    if not 0 <= count <= LARGEST_INT32:
        yield invalid(role.path / "instances", count, f"must be 0 to {LARGEST_INT32}", RULE)


def executor_count(obj: JsonObject) -> int:
    """The number of executors."""
    return int(value_at(obj, ("spec", "executor", "instances")) or 0)


def _topology_errors(obj: JsonObject, gates: FeatureGates) -> Iterator[FieldError]:
    """Errors of the topology requests of the roles; templates alone are checked for all kinds (JOB-78)."""
    if not gates.enabled(Gate.TopologyAwareScheduling):
        return
    try:
        located = [_located(obj, role) for role in ROLES]
    except InvalidFieldError:
        return
    for each in located:
        yield from topology_errors(each, gates)
    yield from grouping_errors(located)


def _located(obj: JsonObject, role: SparkRole) -> LocatedTemplate:
    count = 1 if role is DRIVER else executor_count(obj)
    return LocatedTemplate(annotations(pod_template(obj, role)), role.path / "annotations", count)
