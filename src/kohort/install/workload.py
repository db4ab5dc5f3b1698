"""The manager's Deployment, Configuration, Services and policies; its pods run unprivileged."""

from collections.abc import Iterator, Mapping

from kohort.api.codec import Json
from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.install.options import Options
from kohort.install.text import to_yaml
from kohort.jobs.declarative import DECLARATION_LABEL
from kohort.webhooks.certificates import CERTIFICATE, KEY, TRUSTED
from kohort.webhooks.configurations import service_hosts
from kohort.webhooks.startup import METRICS_SERVICE, VISIBILITY_SERVICE

ACCOUNT = "kueue-controller-manager"
DEPLOYMENT = "kueue-controller-manager"
CONFIG = "kueue-manager-config"
DECLARATIONS = "kohort-frameworks"
CONFIG_FILE = "controller_manager_config.yaml"
SELECTED = {"app.kubernetes.io/name": "kohort", "control-plane": "controller-manager"}
_USER = 65532
"""The `nonroot` user of distroless images."""


def labels_for(component: str) -> Json:
    """The labels of an object of the installation."""
    return {**SELECTED, "app.kubernetes.io/component": component}


def head(api_version: str, kind: str, name: str, options: Options, component: str = "controller") -> Json:
    """apiVersion, kind and metadata of an object in the manager's namespace."""
    metadata = {"name": name, "namespace": options.namespace, "labels": labels_for(component)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def config_map(options: Options) -> Json:
    """The manager's Configuration."""
    files = {CONFIG_FILE: to_yaml(options.installed_document)}
    return {**head("v1", "ConfigMap", CONFIG, options), "data": files}


def declarations(options: Options) -> list[Json]:
    """The ConfigMap of declared job frameworks, which a running manager adds (JOB-236)."""
    if not options.declarations:
        return []
    found = head("v1", "ConfigMap", DECLARATIONS, options, "frameworks")
    found["metadata"]["labels"][DECLARATION_LABEL] = "true"
    return [{**found, "data": dict(options.declarations)}]


def certificate_secret(options: Options) -> Json:
    """An empty Secret in which the manager stores its certificates."""
    return head("v1", "Secret", options.secret, options, "webhook")


def deployment(options: Options) -> Json:
    """The manager's pods."""
    spec = {
        "replicas": options.replicas,
        "selector": {"matchLabels": SELECTED},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "template": {"metadata": {"labels": labels_for("controller")}, "spec": _pod(options)},
    }
    return {**head("apps/v1", "Deployment", DEPLOYMENT, options), "spec": spec}


def _pod(options: Options) -> Json:
    term = {"labelSelector": {"matchLabels": SELECTED}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    return {
        "serviceAccountName": ACCOUNT,
        "priorityClassName": options.priority_class,
        "terminationGracePeriodSeconds": 40,
        "affinity": {"podAntiAffinity": apart},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(options)],
        "volumes": [{"name": name, **source} for name, _, source in _volumes(options)],
    }


def _container(options: Options) -> Json:
    return {
        "name": "manager",
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["manager", f"--config=/config/{CONFIG_FILE}"],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports(options)],
        "livenessProbe": {**_probe("healthz"), "initialDelaySeconds": 15, "periodSeconds": 20},
        "readinessProbe": {**_probe("readyz"), "initialDelaySeconds": 2, "periodSeconds": 5},
        # API servers keep calling a terminating pod until endpoints are updated: it must still respond.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [_mount(name, path) for name, path, _ in _volumes(options)],
    }


def _probe(path: str) -> Json:
    return {"httpGet": {"path": f"/{path}", "port": "health"}}


def _mount(name: str, path: str) -> Json:
    mount = {"name": name, "mountPath": path}
    return mount if name == "tmp" else {**mount, "readOnly": True}


def _volumes(options: Options) -> Iterator[tuple[str, str, Json]]:
    """Name, mount path and source of each volume."""
    yield "config", "/config", {"configMap": {"name": CONFIG}}
    # Key pairs are written here while the TLS library loads them.
    yield "tmp", "/tmp", {"emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}  # noqa: S108  in the container
    if not options.configuration.internal_cert_management.enable:
        # The pod starts once these exist; other keys of the Secret are not needed.
        items = [{"key": name, "path": name} for name in (CERTIFICATE, KEY)]
        yield "cert", options.configuration.webhook.cert_dir, {"secret": {"secretName": options.secret, "items": items}}


def ports(options: Options) -> list[tuple[str, int]]:
    """Names and numbers of the manager's ports."""
    configuration = options.configuration
    found = [
        ("webhooks", configuration.webhook.port),
        ("metrics", _port(configuration.metrics.bind_address)),
        ("health", _port(configuration.health.health_probe_bind_address)),
        ("visibility", _visibility_port(configuration)),
    ]
    return [(name, port) for name, port in found if port]


def _port(address: str) -> int:
    """The port of `host:port`; 0 if the server is disabled."""
    text = address.rpartition(":")[2]
    return int(text) if text.isdigit() else 0


def _visibility_port(configuration: Configuration) -> int:
    return (configuration.visibility_server or VisibilityServer()).bind_port


def services(options: Options) -> list[Json]:
    """The Services for API servers and Prometheus."""
    return [
        _service(options, options.service, "webhook-service", 443, "webhooks"),
        _service(options, VISIBILITY_SERVICE, "visibility-service", 443, "visibility"),
        _service(options, METRICS_SERVICE, "metrics-service", 8443, "metrics"),
    ]


def _service(options: Options, name: str, component: str, port: int, target: str) -> Json:
    exposed = {"name": "https", "port": port, "protocol": "TCP", "targetPort": target}
    return {**head("v1", "Service", name, options, component), "spec": {"selector": SELECTED, "ports": [exposed]}}


def disruption_budget(options: Options) -> Json:
    """Allows one replica at a time to be drained."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": SELECTED}}
    return {**head("policy/v1", "PodDisruptionBudget", DEPLOYMENT, options), "spec": spec}


def network_policy(options: Options) -> Json:
    """Allows ingress to the manager's ports only, each from its clients."""
    sources = {
        "webhooks": options.api_servers,
        "visibility": options.api_servers,
        "metrics": options.scrapers,
    }
    ingress = [{"ports": [{"protocol": "TCP", "port": port}], **_from(name, sources)} for name, port in ports(options)]
    spec = {"podSelector": {"matchLabels": SELECTED}, "policyTypes": ["Ingress"], "ingress": ingress}
    return {**head("networking.k8s.io/v1", "NetworkPolicy", DEPLOYMENT, options), "spec": spec}


def _from(name: str, sources: Mapping[str, Json]) -> Json:
    """The allowed sources of a port; health probes come from kubelets on every node. An empty list allows all."""
    if name not in sources:
        return {}
    peers = sources[name]
    return {"from": peers if isinstance(peers, str) else [dict(each) for each in peers]}


def service_monitor(options: Options) -> Json:
    """The scrape configuration for the Prometheus operator."""
    endpoint = {
        "port": "https",
        "scheme": "https",
        "path": "/metrics",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "tlsConfig": _verification(options),
    }
    spec = {"endpoints": [endpoint], "selector": {"matchLabels": labels_for("metrics-service")}}
    name = "kueue-controller-manager-metrics-monitor"
    return {**head("monitoring.coreos.com/v1", "ServiceMonitor", name, options), "spec": spec}


def _verification(options: Options) -> Json:
    """TLS settings of Prometheus; the manager's own CA rotates without notice, so it cannot be verified."""
    if options.issuer is None:
        return {"insecureSkipVerify": True}
    authority = {"secret": {"name": options.secret, "key": TRUSTED}}
    return {"ca": authority, "serverName": service_hosts(options.namespace, METRICS_SERVICE)[0]}
