"""The pods of a RayCluster: labels, environment, and the command that starts Ray."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from shlex import quote
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.quantity import Quantity
from kohort.jobs.frameworks.ray.cluster import group_size, worker_groups
from kohort.jobs.objects import annotations, labels, value_at
from kohort.operators.objects import SERVICES, add_variables, child_of, pod_from_template

CLUSTER: Final = "ray.io/cluster"
GROUP: Final = "ray.io/group"
NODE_TYPE: Final = "ray.io/node-type"
ORIGIN: Final = "ray.io/originated-from-cr-name"
ORIGIN_KIND: Final = "ray.io/originated-from-crd"
LARGEST: Final = 10_000
"""Maximum number of pods of a cluster."""
_PORTS: Final = {"gcs-server": 6379, "dashboard": 8265, "client": 10001, "metrics": 8080, "serve": 8000}
_MAX_PREFIX: Final = 50
UNIT: Final = 10**9
"""Nanos of one unit."""
_FIXED: Final = (CLUSTER, GROUP, NODE_TYPE)
_OPERATOR: Final = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}


def name_suffix(*parts: str) -> str:
    """Five characters that follow from the parts, where the operator uses random ones."""
    return sha256("/".join(parts).encode()).hexdigest()[:5]


def head_service_name(cluster: JsonObject) -> str:
    """The Service of the head."""
    return value_at(cluster, ("spec", "headGroupSpec", "headService", "metadata", "name")) or (
        f"{cluster['metadata']['name']}-head-svc"
    )


def head_host(cluster: JsonObject) -> str:
    """The host name of the head."""
    return f"{head_service_name(cluster)}.{cluster['metadata']['namespace']}.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class RayNode:
    """A pod of a cluster."""

    cluster: JsonObject
    group: JsonObject
    """The head or a worker group."""
    index: int

    @property
    def is_head(self) -> bool:
        """Whether it is the head."""
        return "groupName" not in self.group

    @property
    def group_name(self) -> str:
        """The name of its group, as in the label."""
        return "headgroup" if self.is_head else str(self.group["groupName"])

    @property
    def name(self) -> str:
        """The name of the pod."""
        cluster = self.cluster["metadata"]
        prefix = cluster["name"] if self.is_head else f"{cluster['name']}-{self.group_name}"
        suffix = name_suffix(cluster["uid"], self.group_name, str(self.index))
        return f"{prefix[:_MAX_PREFIX]}-{'head' if self.is_head else 'worker'}-{suffix}".lower()

    def pod(self) -> JsonObject:
        """The manifest of the pod."""
        template = self.group.get("template") or {}
        pod = pod_from_template(template, self.name, self.cluster, self._labels(template))
        containers = pod["spec"]["containers"]
        self._start(containers[0], annotations(self.cluster))
        waiting = pod["spec"].get("initContainers") or []
        add_variables(waiting, self._address())
        add_variables(containers[:1], self._variables(containers[0]))
        return pod

    def _labels(self, template: JsonObject) -> dict[str, str]:
        kind = "head" if self.is_head else "worker"
        cluster = self.cluster["metadata"]["name"]
        own = {
            "ray.io/is-ray-node": "yes",
            CLUSTER: cluster,
            NODE_TYPE: kind,
            GROUP: self.group_name,
            "ray.io/identifier": f"{cluster}-{kind}",
            **_OPERATOR,
        }
        given = {**labels(template), **(self.group.get("labels") or {})}
        return {**own, **{name: value for name, value in given.items() if name not in _FIXED}}

    def _address(self) -> dict[str, str]:
        host = head_host(self.cluster)
        return {"FQ_RAY_IP": host, "RAY_IP": host.partition(".")[0]}

    def _variables(self, container: JsonObject) -> Mapping[str, str | JsonObject]:
        found: dict[str, str | JsonObject] = {} if self.is_head else dict(self._address())
        fields = {
            "RAY_CLUSTER_NAME": f"metadata.labels['{CLUSTER}']",
            "RAY_CLUSTER_NAMESPACE": "metadata.namespace",
            "RAY_CLOUD_INSTANCE_ID": "metadata.name",
            "RAY_NODE_TYPE_NAME": f"metadata.labels['{GROUP}']",
        }
        found |= {name: {"fieldRef": {"fieldPath": path}} for name, path in fields.items()}
        found["KUBERAY_GEN_RAY_START_CMD"] = self._command(container)
        present = {each.get("name") for each in container.get("env") or ()}
        host = "127.0.0.1" if self.is_head else head_host(self.cluster)
        defaults = {"RAY_PORT": self._port(), "RAY_ADDRESS": f"{host}:{self._port()}"}
        return {**found, **{name: value for name, value in defaults.items() if name not in present}}

    def _start(self, container: JsonObject, cluster: Mapping[str, str]) -> None:
        """Set the command that starts Ray, unless an annotation or the command itself does."""
        written = " ".join(quote(each) for each in (*(container.get("command") or ()), *(container.get("args") or ())))
        if cluster.get("ray.io/overwrite-container-cmd") == "true" or "ray start" in written:
            return
        command = f"ulimit -n 65536; {self._command(container)}"
        container["command"] = ["/bin/bash", "-c", "--"]
        container["args"] = [f"{written} && {command}" if written else command]

    def _command(self, container: JsonObject) -> str:
        given = {"metrics-export-port": "8080", "dashboard-agent-listen-port": "52365", **self._start_parameters()}
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        cpu = limits.get("cpu") or requests.get("cpu")
        if cpu is not None:
            given.setdefault("num-cpus", _whole(cpu))
        if limits.get("memory") is not None:
            given.setdefault("memory", _whole(limits["memory"]))
        given["block"] = "true"
        flags = (f"--{name}" if name == "block" else f"--{name}={value}" for name, value in sorted(given.items()))
        return " ".join(("ray start", *(("--head",) if self.is_head else ()), *flags))

    def _start_parameters(self) -> dict[str, str]:
        given = dict(self.group.get("rayStartParams") or {})
        if self.is_head:
            return {"dashboard-host": "0.0.0.0", **given}  # noqa: S104 - the address is what Ray's dashboard serves on
        return {"address": f"{head_host(self.cluster)}:{self._port()}", **given}

    def _port(self) -> str:
        head = self.cluster["spec"].get("headGroupSpec") or {}
        return str((head.get("rayStartParams") or {}).get("port") or _PORTS["gcs-server"])


def _whole(amount: str | int) -> str:
    """An amount in whole units, rounded up."""
    return str(Quantity.parse(amount).in_units(UNIT))


def ray_nodes(cluster: JsonObject) -> Iterator[RayNode]:
    """The pods of a cluster; raises ValueError if there are too many."""
    groups = worker_groups(cluster["spec"])
    if sum(map(group_size, groups)) > LARGEST:
        raise ValueError(f"spec.workerGroupSpecs has more than {LARGEST} pods")
    yield RayNode(cluster, {key: v for key, v in cluster["spec"]["headGroupSpec"].items() if key != "groupName"}, 0)
    for group in groups:
        for index in range(0 if group.get("suspend") is True else group_size(group)):
            yield RayNode(cluster, group, index)


def head_service(cluster: JsonObject) -> JsonObject:
    """The headless Service of the head."""
    name = cluster["metadata"]["name"]
    selector = {CLUSTER: name, NODE_TYPE: "head", "ray.io/identifier": f"{name}-head", **_OPERATOR}
    ports = [{"name": port, "port": number} for port, number in _PORTS.items()]
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": ports}
    service = child_of(SERVICES, head_service_name(cluster), cluster, spec=spec)
    return {**service, "metadata": {**service["metadata"], "labels": selector}}
