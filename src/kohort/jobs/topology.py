"""The topology request of a pod set, from the annotations of its template (JOB-77).

Webhooks validate annotations; invalid ones of older objects are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kohort.api.codec import decode
from kohort.api.errors import DecodeError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.v1beta2.workload import TopologyConstraint, TopologyRequest
from kohort.jobs.keys import (
    PODSET_GROUP_ANNOTATION,
    PREFERRED_TOPOLOGY_ANNOTATION,
    REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_CONSTRAINTS_ANNOTATION,
    SLICE_REQUIRED_TOPOLOGY_ANNOTATION,
    SLICE_SIZE_ANNOTATION,
    UNCONSTRAINED_TOPOLOGY_ANNOTATION,
)
from kohort.jobs.objects import LARGEST_INT32, whole_number

TRUE_VALUES = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


@dataclass(frozen=True, slots=True)
class IndexLabels:
    """Labels with which the controller of a kind numbers pods (JOB-79)."""

    pod: str = ""
    """The index of a pod in its pod set, or in its sub-group; empty if pods are not numbered."""
    sub_group: str | None = None
    """The index of the pod's sub-group, if pod sets have any."""


def topology_request(
    template: Mapping[str, Any],
    gates: FeatureGates,
    labels: IndexLabels | None = None,
    sub_group_count: int | None = None,
) -> TopologyRequest | None:
    """The topology request of a pod set; None if neither template nor framework requires one (JOB-77, JOB-79)."""
    if not gates.enabled(Gate.TopologyAwareScheduling):
        return None
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    request = TopologyRequest(
        **_mode(annotations),
        **_layers(annotations, gates),
        pod_index_label=(labels.pod or None) if labels else None,
        sub_group_index_label=labels.sub_group if labels else None,
        sub_group_count=sub_group_count,
    )
    return request if request != TopologyRequest() else None


def _mode(annotations: Mapping[str, str]) -> dict[str, Any]:
    for annotation, field in ((REQUIRED_TOPOLOGY_ANNOTATION, "required"), (PREFERRED_TOPOLOGY_ANNOTATION, "preferred")):
        if annotation in annotations:
            group = annotations.get(PODSET_GROUP_ANNOTATION)
            return {field: annotations[annotation]} | ({"pod_set_group_name": group} if group else {})
    unconstrained = annotations.get(UNCONSTRAINED_TOPOLOGY_ANNOTATION)
    if unconstrained in TRUE_VALUES | _FALSE:
        return {"unconstrained": unconstrained in TRUE_VALUES}
    return {}


def _layers(annotations: Mapping[str, str], gates: FeatureGates) -> dict[str, Any]:
    """Slices: one layer as a pair of annotations, or several as JSON; half a pair is ignored (TAS-12)."""
    if SLICE_CONSTRAINTS_ANNOTATION in annotations and gates.enabled(Gate.TASMultiLayerTopology):
        return {"slice_constraints": _constraints(annotations[SLICE_CONSTRAINTS_ANNOTATION])}
    level, size = (
        annotations.get(SLICE_REQUIRED_TOPOLOGY_ANNOTATION),
        whole_number(annotations.get(SLICE_SIZE_ANNOTATION)),
    )
    if level is None or size is None:
        return {}
    return {"pod_set_slice_required_topology": level, "pod_set_slice_size": size}


def _constraints(text: str) -> tuple[TopologyConstraint, ...]:
    layers = slice_layers(text) or ()
    if not all(1 <= layer.size <= LARGEST_INT32 for layer in layers):
        return ()
    return tuple(TopologyConstraint(topology=layer.topology, size=layer.size) for layer in layers)


class AnnotatedLayer(msgspec.Struct, frozen=True):
    """A layer of slices as written; absent members have their zero values."""

    topology: str = ""
    size: int = 0


def slice_layers(text: str) -> tuple[AnnotatedLayer, ...] | None:
    """The layers in the annotation; None unless it is a JSON list of such objects."""
    try:
        return decode(text.encode(), tuple[AnnotatedLayer, ...])
    except DecodeError:
        return None
