"""Defaults that depend on other fields: one function per schema, each completes the object it is given.

A function gets a shallow copy: nested values are replaced, never changed in place.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping

from kohort.api.codec import Json, JsonObject

DefaultRule = Callable[[JsonObject], None]

MAX_INT32 = 2**31 - 1
_RBAC_SUBJECTS = ("User", "Group")
_EXTERNAL_SERVICES = ("NodePort", "LoadBalancer")


def is_absent(obj: Mapping[str, Json], name: str) -> bool:
    """Whether a field is unset; an empty string counts as unset."""
    return bool(obj.get(name, "") == "")


def fill(obj: JsonObject, values: Mapping[str, Json]) -> None:
    """Sets each absent field."""
    for name, value in values.items():
        if is_absent(obj, name):
            obj[name] = value


def _pull_policy(image: str) -> str:
    """Images without tag or digest are `latest`, which is always pulled."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def container(obj: JsonObject) -> None:
    """The pull policy by the image's tag."""
    if is_absent(obj, "imagePullPolicy"):
        obj["imagePullPolicy"] = _pull_policy(obj.get("image", ""))


def image_volume(obj: JsonObject) -> None:
    """As for containers."""
    if is_absent(obj, "pullPolicy"):
        obj["pullPolicy"] = _pull_policy(obj.get("reference", ""))


def volume(obj: JsonObject) -> None:
    """A volume without a source is an empty directory."""
    if not obj.keys() - {"name"}:
        obj["emptyDir"] = {}


def pod_spec(obj: JsonObject) -> None:
    """The deprecated and the current field of the service account have the same value."""
    account = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if account:
        obj["serviceAccountName"] = obj["serviceAccount"] = account


def node_spec(obj: JsonObject) -> None:
    """The pod CIDR is both a field and the first item of a list."""
    listed: list[str] = obj.get("podCIDRs") or []
    first = obj.get("podCIDR") or next(iter(listed), "")
    if first:
        obj["podCIDR"], obj["podCIDRs"] = first, listed if listed[:1] == [first] else [first]


def pod_status(obj: JsonObject) -> None:
    """The pod IP is both a field and the first item of a list."""
    listed: list[JsonObject] = obj.get("podIPs") or []
    first = obj.get("podIP") or next((one.get("ip", "") for one in listed), "")
    if first:
        is_same = [one.get("ip") for one in listed[:1]] == [first]
        obj["podIP"], obj["podIPs"] = first, listed if is_same else [{"ip": first}]


def pod(obj: JsonObject) -> None:
    """Defaults of pods that templates do not get: requests from limits, service links, host ports."""
    spec = dict(obj.get("spec") or {})
    spec.setdefault("enableServiceLinks", True)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for name in ("initContainers", "containers"):
        if name in spec:
            spec[name] = [_pod_container(one, spec) for one in spec[name]]
    obj["spec"] = spec


def _pod_container(one: JsonObject, spec: JsonObject) -> JsonObject:
    limits = (one.get("resources") or {}).get("limits")
    if limits:
        requests = {**limits, **(one["resources"].get("requests") or {})}
        one = {**one, "resources": {**one["resources"], "requests": requests}}
    if spec.get("hostNetwork") and one.get("ports"):
        one = {**one, "ports": [_host_port(port) for port in one["ports"]]}
    return one


def _host_port(port: JsonObject) -> JsonObject:
    return port if port.get("hostPort") else {**port, "hostPort": port.get("containerPort", 0)}


def service(obj: JsonObject) -> None:
    """Traffic policies and affinity by service type."""
    spec = dict(obj.get("spec") or {})
    fill(spec, {"sessionAffinity": "None", "type": "ClusterIP"})
    if spec["sessionAffinity"] == "ClientIP":
        fill(spec, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}})
    if spec["type"] in _EXTERNAL_SERVICES:
        fill(spec, {"externalTrafficPolicy": "Cluster"})
    if spec["type"] != "ExternalName":
        fill(spec, {"internalTrafficPolicy": "Cluster"})
    if spec["type"] == "LoadBalancer":
        fill(spec, {"allocateLoadBalancerNodePorts": True})
    obj["spec"] = spec


def service_port(obj: JsonObject) -> None:
    """The target port is the service port."""
    if obj.get("targetPort") in (None, "", 0):
        obj["targetPort"] = obj.get("port", 0)


def limit_range_item(obj: JsonObject) -> None:
    """A container's limit defaults to the maximum, its request to that limit or to the minimum."""
    if obj.get("type") != "Container":
        return
    limits = {**(obj.get("max") or {}), **(obj.get("default") or {})}
    requests = {**(obj.get("min") or {}), **limits, **(obj.get("defaultRequest") or {})}
    if limits:
        obj["default"] = limits
    if requests:
        obj["defaultRequest"] = requests


def namespace(obj: JsonObject) -> None:
    """The namespace's name as a label, for selectors."""
    metadata = obj.get("metadata") or {}
    if metadata.get("name"):
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        obj["metadata"] = {**metadata, "labels": labels}


def node_status(obj: JsonObject) -> None:
    """Allocatable defaults to capacity."""
    if "capacity" in obj:
        obj.setdefault("allocatable", obj["capacity"])


def replication_controller(obj: JsonObject) -> None:
    """Selector and labels come from the template."""
    spec = obj.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        obj["spec"] = {**spec, "selector": spec.get("selector") or labels}
        _label(obj, labels)


def _label(obj: JsonObject, labels: JsonObject) -> None:
    """An object without labels gets those of its template."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("labels"):
        obj["metadata"] = {**metadata, "labels": labels}


def job(obj: JsonObject) -> None:
    """One pod, six retries, not suspended; the template in a CronJob gets no defaults."""
    spec = dict(obj.get("spec") or {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    fill(spec, {"parallelism": 1, "backoffLimit": MAX_INT32 if "backoffLimitPerIndex" in spec else 6})
    fill(spec, {"podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"})
    fill(spec, {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False})
    obj["spec"] = spec
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        _label(obj, labels)


def deployment(obj: JsonObject) -> None:
    """Rolling update with 25% unavailable and 25% surge."""
    _rolling(obj, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


def daemon_set(obj: JsonObject) -> None:
    """Rolling update of one node at a time."""
    _rolling(obj, "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _rolling(spec: JsonObject, name: str, values: JsonObject) -> None:
    strategy = dict(spec.get(name) or {})
    fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**values, **(strategy.get("rollingUpdate") or {})}
    spec[name] = strategy


def stateful_set(obj: JsonObject) -> None:
    """Rolling update in order; claims are retained."""
    strategy = dict(obj.get("updateStrategy") or {})
    if is_absent(strategy, "type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"] = {"partition": 0, "maxUnavailable": 1, **strategy["rollingUpdate"]}
    policy = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    obj["updateStrategy"] = strategy
    obj["persistentVolumeClaimRetentionPolicy"] = {**policy, **(obj.get("persistentVolumeClaimRetentionPolicy") or {})}


def autoscaler(obj: JsonObject) -> None:
    """CPU utilization without metrics."""
    if not obj.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        obj["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def secret(obj: JsonObject) -> None:
    """Merges stringData into data, overriding it."""
    clear = obj.pop("stringData", None)
    if clear:
        encoded = {name: b64encode(text.encode()).decode() for name, text in clear.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def subject(obj: JsonObject) -> None:
    """API group of subjects: RBAC for users and groups, core for service accounts."""
    if obj.get("kind") in _RBAC_SUBJECTS:
        fill(obj, {"apiGroup": "rbac.authorization.k8s.io"})


def network_policy(obj: JsonObject) -> None:
    """Ingress, and egress if there are egress rules."""
    if not obj.get("policyTypes"):
        obj["policyTypes"] = ["Ingress", "Egress"] if obj.get("egress") else ["Ingress"]


def device_request(obj: JsonObject) -> None:
    """One device."""
    fill(obj, {"allocationMode": "ExactCount"})
    if obj["allocationMode"] == "ExactCount" and not obj.get("count"):
        obj["count"] = 1


RULES: dict[str, DefaultRule] = {
    "core.v1.Container": container,
    "core.v1.EphemeralContainer": container,
    "core.v1.ImageVolumeSource": image_volume,
    "core.v1.LimitRangeItem": limit_range_item,
    "core.v1.Namespace": namespace,
    "core.v1.NodeSpec": node_spec,
    "core.v1.NodeStatus": node_status,
    "core.v1.Pod": pod,
    "core.v1.PodSpec": pod_spec,
    "core.v1.PodStatus": pod_status,
    "core.v1.ReplicationController": replication_controller,
    "core.v1.Secret": secret,
    "core.v1.Service": service,
    "core.v1.ServicePort": service_port,
    "core.v1.Volume": volume,
    "apps.v1.DaemonSetSpec": daemon_set,
    "apps.v1.DeploymentSpec": deployment,
    "apps.v1.StatefulSetSpec": stateful_set,
    "autoscaling.v2.HorizontalPodAutoscalerSpec": autoscaler,
    "batch.v1.Job": job,
    "networking.v1.NetworkPolicySpec": network_policy,
    "rbac.v1.Subject": subject,
    "resource.v1.DeviceSubRequest": device_request,
    "resource.v1.ExactDeviceRequest": device_request,
}
