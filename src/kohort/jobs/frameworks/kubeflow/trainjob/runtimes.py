"""The pods of a TrainJob: those of its runtime, with the values of the TrainJob (JOB-137).

Kubeflow Trainer creates a JobSet from these. Environment variables, ports and volumes that it adds for a machine
learning framework are left out, because quota does not depend on them.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader
from kohort.jobs.errors import not_composable
from kohort.jobs.frameworks.kubeflow.trainjob.replicated_pods import ReplicatedPods, number
from kohort.jobs.frameworks.kubeflow.trainjob.runtime_patches import job_patches, with_patch
from kohort.jobs.objects import labels, metadata

GROUP: Final = "trainer.kubeflow.org"
CLUSTER_RUNTIMES: Final = Resource(
    GROUP, "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", namespaced=False
)
RUNTIMES: Final = Resource(GROUP, "v1alpha1", "TrainingRuntime", "trainingruntimes", namespaced=True)
_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""Label of a replicated job with its part in a TrainJob."""
_TRAINER, _LAUNCHED_NODE = "trainer", "node"
_CONTAINER: Final = "node"
"""The container that gets the values of `spec.trainer`."""
_INITIALIZERS: Final = {"dataset-initializer": "dataset", "model-initializer": "model"}
"""Members of `spec.initializer` by the step, which is also the name of the container."""


def runtime_of(obj: JsonObject) -> tuple[Resource, ObjectKey]:
    """The kind and the key of the runtime that a TrainJob refers to."""
    reference = (obj.get("spec") or {}).get("runtimeRef") or {}
    name = reference.get("name") or ""
    if (reference.get("kind") or CLUSTER_RUNTIMES.kind) == RUNTIMES.kind:
        return RUNTIMES, ObjectKey(metadata(obj).get("namespace", ""), name)
    return CLUSTER_RUNTIMES, ObjectKey("", name)


def pods_of_runtime(obj: JsonObject, reads: ClusterReader) -> list[ReplicatedPods]:
    """The pods of each replicated job, in order; raises UnretryableError with an event if there is no runtime."""
    resource, key = runtime_of(obj)
    runtime = reads.get(resource, key)
    if runtime is None:
        raise not_composable(obj, f"runtime '{key.name}' not found")
    spec = runtime.get("spec") or {}
    job_set: JsonObject = deepcopy((spec.get("template") or {}).get("spec") or {})
    jobs: list[JsonObject] = job_set.get("replicatedJobs") or []
    for name, patch in job_patches(obj):
        jobs = [with_patch(each, {"template": patch}) if each.get("name") == name else each for each in jobs]
    found = [_pods(obj, each, spec.get("mlPolicy")) for each in jobs]
    if not found:
        raise not_composable(obj, f"runtime '{key.name}' has no replicated jobs")
    return found


def _pods(obj: JsonObject, replicated: JsonObject, policy: JsonObject | None) -> ReplicatedPods:
    name, job = replicated.get("name") or "", replicated.get("template") or {}
    step = labels(job).get(_STEP, "")
    job_spec = job.get("spec") or {}
    template: JsonObject = job_spec.get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or ()
    if step == _TRAINER or _is_launched_node(name, policy):
        _set_trainer(obj, containers, policy, is_trainer=step == _TRAINER)
    elif step in _INITIALIZERS:
        _set_initializer(obj, containers, step)
    replicas = 1 if step == _TRAINER or step in _INITIALIZERS else number(replicated.get("replicas"))
    return ReplicatedPods(name, replicas, _pods_per_replica(obj, name, step, job_spec, policy), template)


def _pods_per_replica(
    obj: JsonObject, name: str, step: str, job: Mapping[str, Any], policy: Mapping[str, Any] | None
) -> int:
    """The nodes of a training step, or the parallelism of another one."""
    nodes = _trainer(obj).get("numNodes")
    if policy is not None and policy.get("mpi") is not None:
        if name == _LAUNCHED_NODE and nodes is not None:
            return max(int(nodes) - 1, 1) if _is_launched_node(name, policy) else int(nodes)
    elif step == _TRAINER and nodes is not None:
        return int(nodes)
    if step == _TRAINER and policy is not None:
        return number(policy.get("numNodes"))
    return number(job.get("parallelism"))


def _is_launched_node(name: str, policy: Mapping[str, Any] | None) -> bool:
    """Whether these are the nodes beside an MPI launcher that is a node itself."""
    mpi = (policy or {}).get("mpi") or {}
    return name == _LAUNCHED_NODE and bool(mpi.get("runLauncherAsNode"))


def _set_trainer(
    obj: JsonObject, containers: Sequence[JsonObject], policy: Mapping[str, Any] | None, *, is_trainer: bool
) -> None:
    trainer = _trainer(obj)
    for container in _named(containers, _CONTAINER):
        if is_trainer:
            container |= {each: trainer[each] for each in ("image", "command", "args") if trainer.get(each) is not None}
        _add_env(container, trainer.get("env") or ())
        if trainer.get("resourcesPerNode") and policy is not None:
            container["resources"] = _with_resources(container.get("resources") or {}, trainer["resourcesPerNode"])


def _set_initializer(obj: JsonObject, containers: Sequence[JsonObject], step: str) -> None:
    initializer = ((obj.get("spec") or {}).get("initializer") or {}).get(_INITIALIZERS[step]) or {}
    for container in _named(containers, step):
        if initializer.get("storageUri") is not None:
            _add_env(container, [{"name": "STORAGE_URI", "value": initializer["storageUri"]}])
        _add_env(container, initializer.get("env") or ())
        if initializer.get("secretRef"):
            container["envFrom"] = [*(container.get("envFrom") or ()), {"secretRef": initializer["secretRef"]}]


def _named(containers: Sequence[JsonObject], name: str) -> Iterator[JsonObject]:
    return (each for each in containers if each.get("name") == name)


def _add_env(container: JsonObject, variables: Sequence[Mapping[str, Any]]) -> None:
    """Add variables; those of the same name are replaced in place."""
    if variables:
        by_name = {each["name"]: each for each in (*(container.get("env") or ()), *variables)}
        container["env"] = list(by_name.values())


def _with_resources(present: Mapping[str, Any], wanted: Mapping[str, Any]) -> JsonObject:
    """Resources with some of them replaced."""
    merged = {each: {**(present.get(each) or {}), **(wanted.get(each) or {})} for each in ("limits", "requests")}
    claims = {each["name"]: each for each in (*(present.get("claims") or ()), *(wanted.get("claims") or ()))}
    found = {**merged, "claims": list(claims.values())}
    return {name: value for name, value in found.items() if value}


def _trainer(obj: JsonObject) -> Mapping[str, Any]:
    return (obj.get("spec") or {}).get("trainer") or {}
