"""The values of the chart: defaults, and the schema with which Helm validates them."""

import json
from textwrap import indent

from kohort.api.codec import Json
from kohort.api.config.v1beta2 import VisibilityServer
from kohort.install.options import ISSUER_KINDS, Options, default_document
from kohort.install.text import to_yaml

_VALUES = """\
# The manager's image.
image: {image}
# Number of manager replicas; one is the leader, the others are on standby.
replicas: {replicas}
# Whether to install a ServiceMonitor for the Prometheus operator.
serviceMonitor: false
# Whether to use cert-manager certificates. An empty issuer name creates a CA issuer.
certManager:
  enable: false
  issuer:
    name: ''
    kind: Issuer
# Whether to serve v1beta1 too. If so, API servers keep a second copy of all objects in their watch caches and convert
# every change of a Workload, even without clients of v1beta1.
serveV1beta1: true
# The manager's PriorityClass. While no manager runs, pods and jobs that match its webhooks cannot be created.
priorityClassName: {priority_class}
# Whether `helm uninstall` keeps the CustomResourceDefinitions, and with them all queues and Workloads.
crds:
  keep: true
# NetworkPolicy peers, such as `ipBlock: {{cidr: 192.0.2.0/24}}`; an empty list allows all. API servers reach the
# webhooks and the visibility API, scrapers the metrics.
networkPolicy:
  apiServers: []
  scrapers: []
# Declared job frameworks, as docs/how-to/add-a-framework.md describes them. A running manager adds them.
frameworks: []
# The manager's Configuration; its ports and certificate names are fixed.
managerConfig:
"""


_PEERS = {"type": "array", "items": {"type": "object"}}
_DECLARATION = {
    "type": "object",
    "required": ["name", "gvk", "suspend", "podsets"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "gvk": {"type": "string", "pattern": "^[a-z0-9.-]+/[a-z0-9]+/[A-Za-z0-9]+$"},
        "plural": {"type": "string", "minLength": 1},
    },
}
"""A declared framework, with the fields from which the chart derives names; the manager reports other errors."""


def default_values() -> str:
    """The default values.yaml."""
    defaults = Options()
    head = _VALUES.format(image=defaults.image, replicas=defaults.replicas, priority_class=defaults.priority_class)
    return head + indent(to_yaml(default_document()), "  ")


def values_schema() -> str:
    """The JSON schema of the values."""
    issuer = _object(name={"type": "string"}, kind={"enum": list(ISSUER_KINDS)})
    schema = _object(
        image={"type": "string", "minLength": 1},
        replicas={"type": "integer", "minimum": 1},
        serviceMonitor={"type": "boolean"},
        certManager={**_object(enable={"type": "boolean"}, issuer=issuer), "required": ["enable"]},
        serveV1beta1={"type": "boolean"},
        priorityClassName={"type": "string"},
        crds={**_object(keep={"type": "boolean"}), "required": ["keep"]},
        networkPolicy={**_object(apiServers=_PEERS, scrapers=_PEERS), "required": ["apiServers", "scrapers"]},
        frameworks={"type": "array", "items": _DECLARATION},
        managerConfig=_manager_config(),
    )
    schema["required"] = list(schema["properties"])
    # Helm passes global values to subcharts.
    schema["properties"]["global"] = {"type": "object"}
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, indent=2) + "\n"


def _object(**members: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": False, "properties": members}


def _manager_config() -> Json:
    """Any Configuration with the ports and names that the chart's Services, policies and mounts depend on."""
    defaults = Options().configuration
    visibility = defaults.visibility_server or VisibilityServer()
    return _with(
        webhook=_with(port=_only(defaults.webhook.port), certDir=_only(defaults.webhook.cert_dir)),
        metrics=_with(bindAddress=_only(defaults.metrics.bind_address)),
        health=_with(healthProbeBindAddress=_only(defaults.health.health_probe_bind_address)),
        visibilityServer=_with(bindPort=_only(visibility.bind_port)),
        internalCertManagement=_with(
            enable={"type": "boolean"},
            webhookServiceName=_only(defaults.internal_cert_management.webhook_service_name),
            webhookSecretName=_only(defaults.internal_cert_management.webhook_secret_name),
        ),
    )


def _with(**members: Json) -> Json:
    return {"type": "object", "properties": members}


def _only(value: str | int) -> Json:
    return {"const": value}
