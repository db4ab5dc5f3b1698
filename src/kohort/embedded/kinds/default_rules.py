"""Defaults that depend on other fields: one function per schema, each fills the object it is given.

A function gets a copy of its own, one level deep: what lies deeper it replaces and never changes in place.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping

from kohort.api.codec import Json, JsonObject

Rule = Callable[[JsonObject], None]

MAX_INT32 = 2**31 - 1
_RBAC_SUBJECTS = ("User", "Group")
_EXTERNAL_SERVICES = ("NodePort", "LoadBalancer")


def is_absent(obj: Mapping[str, Json], name: str) -> bool:
    """Whether a field counts as not given: an empty text is none."""
    return bool(obj.get(name, "") == "")


def fill(obj: JsonObject, values: Mapping[str, Json]) -> None:
    """Give each absent field its value."""
    for name, value in values.items():
        if is_absent(obj, name):
            obj[name] = value


def _pull_policy(image: str) -> str:
    """Images without a tag or digest are the latest ones, which may change under their name."""
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def container(obj: JsonObject) -> None:
    """The pull policy follows the image's tag."""
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
    """The service account has two names, an old one and a new one, which say the same."""
    account = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if account:
        obj["serviceAccountName"] = obj["serviceAccount"] = account


def node_spec(obj: JsonObject) -> None:
    """The range of a node's pods stands in two fields, an old one and the first of a list, which say the same."""
    listed: list[str] = obj.get("podCIDRs") or []
    first = obj.get("podCIDR") or next(iter(listed), "")
    if first:
        obj["podCIDR"], obj["podCIDRs"] = first, listed if listed[:1] == [first] else [first]


def pod_status(obj: JsonObject) -> None:
    """So does the address of a pod."""
    listed: list[JsonObject] = obj.get("podIPs") or []
    first = obj.get("podIP") or next((one.get("ip", "") for one in listed), "")
    if first:
        is_same = [one.get("ip") for one in listed[:1]] == [first]
        obj["podIP"], obj["podIPs"] = first, listed if is_same else [{"ip": first}]


def pod(obj: JsonObject) -> None:
    """What only a pod itself gets, and no template: requests from limits, service links, ports on the host."""
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
    """Traffic policies and affinity by the service's type."""
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
    """Traffic goes to the same port of the pod."""
    if obj.get("targetPort") in (None, "", 0):
        obj["targetPort"] = obj.get("port", 0)


def limit_range_item(obj: JsonObject) -> None:
    """A container's limit defaults to the most it may have, its request to that limit or to the least."""
    if obj.get("type") != "Container":
        return
    limits = {**(obj.get("max") or {}), **(obj.get("default") or {})}
    requests = {**(obj.get("min") or {}), **limits, **(obj.get("defaultRequest") or {})}
    if limits:
        obj["default"] = limits
    if requests:
        obj["defaultRequest"] = requests


def namespace(obj: JsonObject) -> None:
    """A namespace carries its name as a label, so that selectors can find it."""
    metadata = obj.get("metadata") or {}
    if metadata.get("name"):
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        obj["metadata"] = {**metadata, "labels": labels}


def node_status(obj: JsonObject) -> None:
    """All of a node can be allocated unless it says otherwise."""
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
    """An object without labels takes those of its template."""
    metadata = obj.get("metadata") or {}
    if not metadata.get("labels"):
        obj["metadata"] = {**metadata, "labels": labels}


def job(obj: JsonObject) -> None:
    """One pod, six retries, no suspension unless said otherwise; the template inside a CronJob gets none of it."""
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
    """A quarter may be missing, and a quarter too many, while pods are replaced."""
    _rolling(obj, "strategy", {"maxUnavailable": "25%", "maxSurge": "25%"})


def daemon_set(obj: JsonObject) -> None:
    """One node at a time."""
    _rolling(obj, "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _rolling(spec: JsonObject, name: str, values: JsonObject) -> None:
    strategy = dict(spec.get(name) or {})
    fill(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**values, **(strategy.get("rollingUpdate") or {})}
    spec[name] = strategy


def stateful_set(obj: JsonObject) -> None:
    """All pods are replaced, in order; claims stay."""
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
    """Without metrics, processor use decides."""
    if not obj.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        obj["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def secret(obj: JsonObject) -> None:
    """Texts given in the clear join the encoded ones, over which they win."""
    clear = obj.pop("stringData", None)
    if clear:
        encoded = {name: b64encode(text.encode()).decode() for name, text in clear.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def subject(obj: JsonObject) -> None:
    """Users and groups belong to the group of RBAC itself, service accounts to the core."""
    if obj.get("kind") in _RBAC_SUBJECTS:
        fill(obj, {"apiGroup": "rbac.authorization.k8s.io"})


def network_policy(obj: JsonObject) -> None:
    """Traffic in, and traffic out where there are rules for it."""
    if not obj.get("policyTypes"):
        obj["policyTypes"] = ["Ingress", "Egress"] if obj.get("egress") else ["Ingress"]


def device_request(obj: JsonObject) -> None:
    """One device."""
    fill(obj, {"allocationMode": "ExactCount"})
    if obj["allocationMode"] == "ExactCount" and not obj.get("count"):
        obj["count"] = 1


RULES: dict[str, Rule] = {
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
