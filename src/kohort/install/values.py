"""What a user of the chart may choose: the usual values, and a schema by which Helm refuses what can't be followed."""

import json
from textwrap import indent

from kohort.api.codec import Json
from kohort.api.config.v1beta2 import VisibilityServer
from kohort.install.options import ISSUER_KINDS, Options, usual_document
from kohort.install.text import to_yaml

_VALUES = """\
# The manager's image.
image: {image}
# How many managers run; one leads, the others take over.
replicas: {replicas}
# Whether a ServiceMonitor for the Prometheus operator is installed.
serviceMonitor: false
# Whether certificates are cert-manager's; it signs with an authority of its own unless an issuer has a name here.
certManager:
  enable: false
  issuer:
    name: ''
    kind: Issuer
# Whether clients may speak v1beta1 too. API servers keep a copy of all objects for it, and have every change of a
# Workload converted, whether or not anybody asks for it.
serveV1beta1: true
# The manager's PriorityClass: while no manager runs, pods and jobs of its webhooks can't be created.
priorityClassName: {priority_class}
# Whether `helm uninstall` leaves the CustomResourceDefinitions, and with them all queues and Workloads, in place.
crds:
  keep: true
# NetworkPolicy peers, such as `ipBlock: {{cidr: 192.0.2.0/24}}`; an empty list means everybody. API servers reach the
# webhooks and the visibility API, scrapers the metrics.
networkPolicy:
  apiServers: []
  scrapers: []
# The manager's Configuration; its ports and the names of its certificates stay as they are here.
managerConfig:
"""


_PEERS = {"type": "array", "items": {"type": "object"}}


def usual_values() -> str:
    """The values of a new installation."""
    usual = Options()
    head = _VALUES.format(image=usual.image, replicas=usual.replicas, priority_class=usual.priority_class)
    return head + indent(to_yaml(usual_document()), "  ")


def values_schema() -> str:
    """What values can be."""
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
        managerConfig=_manager_config(),
    )
    schema["required"] = list(schema["properties"])
    # Helm itself gives these to a chart that another one is made of.
    schema["properties"]["global"] = {"type": "object"}
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, indent=2) + "\n"


def _object(**members: Json) -> dict[str, Json]:
    return {"type": "object", "additionalProperties": False, "properties": members}


def _manager_config() -> Json:
    """Any Configuration that leaves alone what Services, policies and mounts of the chart are made for."""
    usual = Options().configuration
    visibility = usual.visibility_server or VisibilityServer()
    return _with(
        webhook=_with(port=_only(usual.webhook.port), certDir=_only(usual.webhook.cert_dir)),
        metrics=_with(bindAddress=_only(usual.metrics.bind_address)),
        health=_with(healthProbeBindAddress=_only(usual.health.health_probe_bind_address)),
        visibilityServer=_with(bindPort=_only(visibility.bind_port)),
        internalCertManagement=_with(
            enable={"type": "boolean"},
            webhookServiceName=_only(usual.internal_cert_management.webhook_service_name),
            webhookSecretName=_only(usual.internal_cert_management.webhook_secret_name),
        ),
    )


def _with(**members: Json) -> Json:
    return {"type": "object", "properties": members}


def _only(value: str | int) -> Json:
    return {"const": value}
