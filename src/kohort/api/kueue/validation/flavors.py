"""Webhook rules of ResourceFlavor (API-37 to API-39)."""

from kohort.api.fields import ROOT, FieldError
from kohort.api.kueue.v1beta2.flavors import ResourceFlavor
from kohort.api.names import label_errors
from kohort.api.taints import taint_errors, toleration_errors

SPEC = ROOT / "spec"


def resource_flavor_errors(flavor: ResourceFlavor) -> list[FieldError]:
    """Problems of a ResourceFlavor, new or changed."""
    return [
        *label_errors(flavor.spec.node_labels, SPEC / "nodeLabels"),
        *taint_errors(flavor.spec.node_taints, SPEC / "nodeTaints"),
        *toleration_errors(flavor.spec.tolerations, SPEC / "tolerations"),
    ]
