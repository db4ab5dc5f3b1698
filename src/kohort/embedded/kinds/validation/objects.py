"""Traverses an object and applies the rules of each schema."""

from collections.abc import Callable, Iterator, Mapping, Set

from kohort.api.codec import Json, JsonMapping
from kohort.api.fields import ROOT, FieldError, Path, not_supported
from kohort.embedded.kinds.shapes import SchemaReach, ValueShape, shape_of
from kohort.embedded.kinds.validation import others, pods, workloads
from kohort.embedded.kinds.validation.metadata import metadata_problems, name_problems
from kohort.embedded.kinds.validation.problems import Problems, missing
from kohort.embedded.kinds.validation.updates import update_problems
from kohort.embedded.resources import ServedResource

_ValidationRule = Callable[[JsonMapping, Path], Problems]

_RULES: dict[str, _ValidationRule] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": metadata_problems,
    "io.k8s.api.admissionregistration.v1.MutatingWebhook": others.webhook,
    "io.k8s.api.admissionregistration.v1.ValidatingWebhook": others.webhook,
    "io.k8s.api.apps.v1.DaemonSetSpec": workloads.controlled,
    "io.k8s.api.apps.v1.DeploymentSpec": workloads.controlled,
    "io.k8s.api.apps.v1.ReplicaSetSpec": workloads.controlled,
    "io.k8s.api.apps.v1.StatefulSetSpec": workloads.controlled,
    "io.k8s.api.batch.v1.CronJobSpec": workloads.cron_job_spec,
    "io.k8s.api.batch.v1.Job": workloads.job,
    "io.k8s.api.batch.v1.JobSpec": workloads.job_spec,
    "io.k8s.api.coordination.v1.LeaseSpec": others.lease_spec,
    "io.k8s.api.core.v1.ConfigMap": others.config_map,
    "io.k8s.api.core.v1.Container": pods.container,
    "io.k8s.api.core.v1.ContainerPort": pods.container_port,
    "io.k8s.api.core.v1.LimitRangeItem": others.limit_range_item,
    "io.k8s.api.core.v1.PodSpec": pods.pod_spec,
    "io.k8s.api.core.v1.Probe": pods.probe,
    "io.k8s.api.core.v1.ResourceQuotaSpec": others.amounts,
    "io.k8s.api.core.v1.ResourceRequirements": pods.resources,
    "io.k8s.api.core.v1.Secret": others.secret,
    "io.k8s.api.core.v1.ServiceSpec": others.service_spec,
    "io.k8s.api.core.v1.Toleration": pods.toleration,
    "io.k8s.api.core.v1.Volume": pods.volume,
    "io.k8s.api.policy.v1.PodDisruptionBudgetSpec": workloads.disruption_budget_spec,
    "io.k8s.api.rbac.v1.ClusterRoleBinding": others.role_binding,
    "io.k8s.api.rbac.v1.PolicyRule": others.policy_rule,
    "io.k8s.api.rbac.v1.RoleBinding": others.role_binding,
    "io.k8s.api.scheduling.v1.PriorityClass": others.priority_class,
}

_AFTERWARDS: dict[str, _ValidationRule] = {
    "io.k8s.api.batch.v1.JobSpec": workloads.job_policy,
    "io.k8s.api.core.v1.Pod": pods.gated_node,
}
"""Rules whose errors follow those of nested values, as in kube-apiserver."""

_NEEDED: dict[str, tuple[str, ...]] = {
    "io.k8s.api.batch.v1.CronJobSpec": ("schedule",),
    "io.k8s.api.batch.v1.PodFailurePolicyRule": ("action",),
    "io.k8s.api.core.v1.ConfigMapKeySelector": ("key",),
    "io.k8s.api.core.v1.Container": ("name",),
    "io.k8s.api.core.v1.EnvVar": ("name",),
    "io.k8s.api.core.v1.LimitRangeItem": ("type",),
    "io.k8s.api.core.v1.PodSchedulingGate": ("name",),
    "io.k8s.api.core.v1.SecretKeySelector": ("key",),
    "io.k8s.api.core.v1.Taint": ("key", "effect"),
    "io.k8s.api.core.v1.TopologySpreadConstraint": ("maxSkew", "topologyKey", "whenUnsatisfiable"),
    "io.k8s.api.core.v1.Volume": ("name",),
    "io.k8s.api.core.v1.VolumeMount": ("name", "mountPath"),
    "io.k8s.api.node.v1.RuntimeClass": ("handler",),
    "io.k8s.api.storage.v1.StorageClass": ("provisioner",),
}

_PULL = ("Always", "IfNotPresent", "Never")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FAILURE = ("Fail", "Ignore")
_ONE_OF: dict[str, dict[str, tuple[str, ...]]] = {
    "io.k8s.api.admissionregistration.v1.MutatingWebhook": {
        "failurePolicy": _FAILURE,
        "matchPolicy": ("Equivalent", "Exact"),
        "reinvocationPolicy": ("IfNeeded", "Never"),
    },
    "io.k8s.api.admissionregistration.v1.ValidatingWebhook": {
        "failurePolicy": _FAILURE,
        "matchPolicy": ("Equivalent", "Exact"),
    },
    "io.k8s.api.apps.v1.DeploymentStrategy": {"type": ("Recreate", "RollingUpdate")},
    "io.k8s.api.apps.v1.StatefulSetSpec": {"podManagementPolicy": ("OrderedReady", "Parallel")},
    "io.k8s.api.batch.v1.CronJobSpec": {"concurrencyPolicy": ("Allow", "Forbid", "Replace")},
    "io.k8s.api.batch.v1.JobSpec": {
        "completionMode": ("NonIndexed", "Indexed"),
        "podReplacementPolicy": ("Failed", "TerminatingOrFailed"),
    },
    "io.k8s.api.batch.v1.PodFailurePolicyRule": {"action": ("Count", "FailIndex", "FailJob", "Ignore")},
    "io.k8s.api.core.v1.Container": {
        "imagePullPolicy": _PULL,
        "terminationMessagePolicy": ("FallbackToLogsOnError", "File"),
    },
    "io.k8s.api.core.v1.PodSpec": {
        "dnsPolicy": ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"),
        "preemptionPolicy": ("Never", "PreemptLowerPriority"),
        "restartPolicy": ("Always", "OnFailure", "Never"),
    },
    "io.k8s.api.core.v1.ServicePort": {"protocol": ("SCTP", "TCP", "UDP")},
    "io.k8s.api.core.v1.ServiceSpec": {
        "sessionAffinity": ("ClientIP", "None"),
        "type": ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    },
    "io.k8s.api.core.v1.Taint": {"effect": _EFFECTS},
    "io.k8s.api.core.v1.Toleration": {"effect": _EFFECTS, "operator": ("Equal", "Exists")},
    "io.k8s.api.core.v1.TopologySpreadConstraint": {"whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")},
    "io.k8s.api.scheduling.v1.PriorityClass": {"preemptionPolicy": ("Never", "PreemptLowerPriority")},
    "io.k8s.api.storage.v1.StorageClass": {
        "reclaimPolicy": ("Delete", "Retain"),
        "volumeBindingMode": ("Immediate", "WaitForFirstConsumer"),
    },
}

RULED = SchemaReach(frozenset((*_RULES, *_NEEDED, *_ONE_OF)))


def validate(
    resource: ServedResource, obj: Mapping[str, Json], old: Mapping[str, Json] | None = None
) -> list[FieldError]:
    """Validation errors of an object of a built-in kind; unchanged parts are not validated again."""
    if resource.is_custom or resource.schema is None:
        return []
    if old is None:
        return [*name_problems(resource, obj), *_walk(obj, shape_of(resource.schema.raw), ROOT)]
    changed = {name for name in obj.keys() | old.keys() if old.get(name) != obj.get(name)}
    if not changed - {"status"}:
        return []
    found = _walk_changed(obj, changed, shape_of(resource.schema.raw))
    return [*found, *update_problems(resource.key, obj, old)]


def _walk(value: Json, shape: ValueShape, path: Path) -> Iterator[FieldError]:
    if isinstance(value, Mapping):
        if shape.kind == "object":
            yield from _object(value, shape, path)
            for name, below in _members(shape, path):
                if name in value:
                    yield from _walk(value[name], below, path / name)
            last = _AFTERWARDS.get(shape.name)
            if last:
                yield from last(value, path)
        elif shape.kind == "map":
            for name, member in value.items():
                yield from _walk(member, shape.below, path[name])
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, shape.below, path[index])


def _walk_changed(obj: Mapping[str, Json], changed: Set[str], shape: ValueShape) -> Iterator[FieldError]:
    """Applies rules of the object as a whole, then those of changed parts."""
    yield from _object(obj, shape, ROOT)
    for name, below in _members(shape, ROOT):
        if name in changed and name in obj:
            yield from _walk(obj[name], below, ROOT / name)


def _members(shape: ValueShape, path: Path) -> Iterator[tuple[str, ValueShape]]:
    """Members with rules below; status is not validated."""
    for name, below in RULED.below(shape).items():
        if name != "status" or path != ROOT:
            yield name, below


def _object(value: JsonMapping, shape: ValueShape, path: Path) -> Problems:
    for name in _NEEDED.get(shape.name, ()):
        if value.get(name) in (None, "", {}, []):
            yield missing(path / name)
    for name, choices in _ONE_OF.get(shape.name, {}).items():
        if value.get(name) and value[name] not in choices:
            yield not_supported(path / name, value[name], choices)
    rule = _RULES.get(shape.name)
    if rule:
        yield from rule(value, path)
