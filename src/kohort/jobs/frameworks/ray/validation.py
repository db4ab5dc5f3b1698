"""Validation of Ray clusters that are queued (JOB-124, JOB-131)."""

from collections import Counter
from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import ErrorKind, FieldError, Path, duplicate, forbidden, invalid
from kohort.api.gates import FeatureGates
from kohort.api.names import check_label
from kohort.jobs.frameworks.ray.cluster import HEAD, autoscales, group_name, group_size, worker_groups
from kohort.jobs.keys import ELASTIC_JOB_ANNOTATION, MULTIKUEUE_CONTROLLER
from kohort.jobs.objects import LARGEST_INT32, requests_slices, value_at
from kohort.jobs.templated import MAX_POD_SETS

RULE = "JOB-124"


def cluster_errors(
    obj: JsonObject, spec: JsonObject, path: Path, gates: FeatureGates, further: tuple[str, ...] = ()
) -> Iterator[FieldError]:
    """Errors of a cluster; `further` are the names of the object's pod sets besides those of the cluster."""
    yield from _autoscaling_errors(obj, spec, path, gates)
    groups = worker_groups(spec)
    yield from _number_errors(len(groups) + 1 + len(further), path)
    names = Counter(map(group_name, groups))
    for index, group in enumerate(groups):
        yield from _name_errors(group_name(group), names, further, (path / "workerGroupSpecs")[index] / "groupName")
        yield from _size_errors(group, (path / "workerGroupSpecs")[index] / "replicas")


def _autoscaling_errors(obj: JsonObject, spec: JsonObject, path: Path, gates: FeatureGates) -> Iterator[FieldError]:
    if not autoscales(spec):
        return
    path = path / "enableInTreeAutoscaling"
    if not requests_slices(obj, gates):
        remedy = f'only elastic jobs can be autoscaled: add the annotation {ELASTIC_JOB_ANNOTATION}: "true"'
        yield invalid(path, value=True, detail=remedy, rule=RULE)
    elif value_at(obj, ("spec", "managedBy")) == MULTIKUEUE_CONTROLLER:
        yield forbidden(path, "an elastic job that MultiKueue dispatches can't be autoscaled: remove the field", RULE)


def _number_errors(count: int, path: Path) -> Iterator[FieldError]:
    if count > MAX_POD_SETS:
        why = f"a Workload has at most {MAX_POD_SETS} pod sets, this one would have {count}: merge worker groups"
        yield FieldError(path / "workerGroupSpecs", ErrorKind.TOO_MANY, why, rule=RULE)


def _name_errors(name: str, names: Counter[str], further: tuple[str, ...], path: Path) -> Iterator[FieldError]:
    problem = check_label(name)
    if name in (HEAD, *further):
        yield forbidden(path, f"{name} is the name of another pod set of the job: rename the group", RULE)
    elif problem:
        yield invalid(path, name, problem, RULE)
    elif names[name] > 1:
        yield duplicate(path, name, "names of worker groups must differ in lower case", RULE)


def _size_errors(group: JsonObject, path: Path) -> Iterator[FieldError]:
    size = group_size(group)
    if not 0 <= size <= LARGEST_INT32:
        yield invalid(path, size, f"replicas times numOfHosts must be between 0 and {LARGEST_INT32}", RULE)
