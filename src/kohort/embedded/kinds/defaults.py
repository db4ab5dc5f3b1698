"""Defaults of the built-in kinds that their schemas lack.

Each default belongs to a schema, so that a pod's defaults apply to every pod template. Fixed values are in one table,
computed ones in `default_rules`.
"""

from collections.abc import Mapping

from kohort.api.codec import Json
from kohort.embedded.kinds.default_rules import RULES, fill
from kohort.embedded.kinds.shapes import SchemaReach, ValueShape, shape_of
from kohort.embedded.resources import ServedResource

_MODE = {"defaultMode": 0o644}
_EQUIVALENT = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK = {"failurePolicy": "Fail", **_EQUIVALENT, "timeoutSeconds": 10}
_ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io"}
_CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {}}

_NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip

_FIXED: dict[str, Mapping[str, Json]] = {
    "core.v1.ConfigMapVolumeSource": _MODE,
    "core.v1.Container": _CONTAINER,
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.ContainerPort": {"protocol": "TCP"},
    "core.v1.DownwardAPIVolumeSource": _MODE,
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.GRPCAction": {"service": ""},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "core.v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "core.v1.Event": {"source": {}, "reportingComponent": "", "reportingInstance": ""},
    "core.v1.NamespaceStatus": {"phase": "Active"},
    "core.v1.NodeStatus": {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(_NODE_INFO, ""),
    },
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core.v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core.v1.PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
    "core.v1.PodStatus": {"phase": "Pending"},
    "core.v1.PodTemplate": {"template": {}},
    "core.v1.PodTemplateSpec": {"metadata": {}, "spec": {}},
    "core.v1.ProjectedVolumeSource": _MODE,
    "core.v1.ReplicationControllerSpec": {"replicas": 1},
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.SecretVolumeSource": _MODE,
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.ServicePort": {"protocol": "TCP"},
    "core.v1.ServiceStatus": {"loadBalancer": {}},
    "admissionregistration.v1.MatchResources": _EQUIVALENT,
    "admissionregistration.v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.ServiceReference": {"port": 443},
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "apps.v1.DaemonSetSpec": {"template": {}, "revisionHistoryLimit": 10},
    "apps.v1.DeploymentSpec": {
        "template": {},
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    "apps.v1.ReplicaSetSpec": {"template": {}, "replicas": 1},
    "apps.v1.StatefulSetSpec": {
        "template": {},
        "podManagementPolicy": "OrderedReady",
        "replicas": 1,
        "revisionHistoryLimit": 10,
    },
    "apps.v1.StatefulSetStatus": {"availableReplicas": 0},
    "authentication.v1.TokenRequestSpec": {"expirationSeconds": 3600},
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "batch.v1.CronJobSpec": {
        "jobTemplate": {},
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch.v1.JobSpec": {"template": {}},
    "batch.v1.JobTemplateSpec": {"metadata": {}, "spec": {}},
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "discovery.v1.Endpoint": {"conditions": {}},
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "events.v1.Event": {"deprecatedSource": {}},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking.v1.IngressStatus": {"loadBalancer": {}},
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "policy.v1.PodDisruptionBudgetStatus": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "rbac.v1.RoleRef": _ROLE_REF,
    "resource.v1.ResourceClaimTemplateSpec": {"metadata": {}},
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference": {"port": 443},
}
_WHEN_ZERO: dict[str, Mapping[str, int]] = {
    "core.v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
}
"""Fields in which zero counts as unset."""

_PREFIX = "io.k8s.api."


def apply_defaults(resource: ServedResource, obj: dict[str, Json]) -> dict[str, Json]:
    """The object with Kubernetes' defaults; the argument is not changed. Custom resources default by schema."""
    if resource.is_custom or resource.schema is None:
        return obj
    filled: dict[str, Json] = _default({**obj, **_empty_parts(resource, obj)}, shape_of(resource.schema.raw))
    return filled


def empty_status(resource: ServedResource) -> dict[str, Json]:
    """The initial status of an object, with zero counts."""
    node = resource.schema.properties["status"] if resource.schema else None
    if node is None:
        return {}
    required = node.resolved.get("required", ())
    counts = {name: 0 for name in required if node.properties[name].type == "integer"}
    status: dict[str, Json] = _default(counts, shape_of(node.raw))
    return status


def _empty_parts(resource: ServedResource, obj: dict[str, Json]) -> dict[str, Json]:
    """Empty spec and status for every kind that has them."""
    members = resource.schema.properties if resource.schema else {}
    parts: dict[str, Json] = {}
    if "spec" in members and not obj.get("spec"):
        parts["spec"] = {}
    if "status" in members and not obj.get("status"):
        parts["status"] = empty_status(resource)
    return parts


def _default(value: Json, shape: ValueShape) -> Json:
    if isinstance(value, dict):
        return _default_object(value, shape) if shape.kind == "object" else _default_map(value, shape)
    if isinstance(value, list):
        return [_default(item, shape.below) for item in value]
    return value


def _default_map(value: dict[str, Json], shape: ValueShape) -> Json:
    return {name: _default(member, shape.below) for name, member in value.items()}


def _default_object(value: dict[str, Json], shape: ValueShape) -> dict[str, Json]:
    filled = dict(value)
    key = shape.name.removeprefix(_PREFIX)
    fill(filled, _FIXED.get(key, {}))
    for name, number in _WHEN_ZERO.get(key, {}).items():
        filled[name] = filled.get(name) or number
    rule = RULES.get(key)
    if rule:
        rule(filled)
    for name, below in DEFAULTED.below(shape).items():
        if name in filled:
            filled[name] = _default(filled[name], below)
    return filled


DEFAULTED = SchemaReach(
    frozenset(key if key.startswith("io.k8s.") else _PREFIX + key for key in (*_FIXED, *RULES, *_WHEN_ZERO))
)
