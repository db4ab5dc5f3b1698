"""Parents and variants as objects: which Workload becomes a parent, and which variants are missing or stale.

`lifecycle.variants` reconciles their status (SCH-1110).
"""

import hashlib
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from kohort.api.gates import FeatureGates, Gate
from kohort.api.kueue.keys import ALLOWED_FLAVORS_ANNOTATION, CONCURRENT_ADMISSION_PARENT_LABEL
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.kueue.v1beta2.workload import PreemptionGate, WorkloadStatus
from kohort.api.meta import ObjectMeta, OwnerReference
from kohort.engine.lifecycle.conditions import is_finished, is_reserved
from kohort.engine.lifecycle.pods_ready import is_variant
from kohort.engine.lifecycle.preemption_gates import CONCURRENT_ADMISSION_GATE
from kohort.engine.record_builders import is_parent

MAX_NAME_LENGTH: Final = 63
HASH_LENGTH: Final = 5
"""Characters that make truncated names unique."""


def becomes_parent(workload: Workload, queue: ClusterQueue | None, gates: FeatureGates) -> bool:
    """Whether a Workload without the parent label must become a parent of variants."""
    if not gates.enabled(Gate.ConcurrentAdmission) or queue is None or queue.spec.concurrent_admission_policy is None:
        return False
    settled = is_finished(workload) or is_reserved(workload) or workload.metadata.deletion_timestamp is not None
    return not (settled or is_parent(workload) or is_variant(workload))


def as_parent(workload: Workload) -> Workload:
    """The Workload with the parent label, which removes it from all queues."""
    labels = {**workload.metadata.labels, CONCURRENT_ADMISSION_PARENT_LABEL: "true"}
    return replace(workload, metadata=replace(workload.metadata, labels=labels))


def missing_variants(parent: Workload, variants: Iterable[Workload], flavors: Iterable[str]) -> list[Workload]:
    """A variant for each flavor without one, in the order of flavors."""
    present = {flavor_of(each) for each in variants}
    return [_variant(parent, flavor) for flavor in flavors if flavor not in present]


def stale_variants(variants: Iterable[Workload], flavors: Iterable[str]) -> list[Workload]:
    """Variants whose flavor is no longer in the queue."""
    offered = frozenset(flavors)
    return [each for each in variants if flavor_of(each) not in offered]


def flavor_of(variant: Workload) -> str:
    """The flavor of a variant."""
    return variant.metadata.annotations.get(ALLOWED_FLAVORS_ANNOTATION, "").partition(",")[0].strip()


def _variant(parent: Workload, flavor: str) -> Workload:
    metadata = parent.metadata
    labels = {name: value for name, value in metadata.labels.items() if name != CONCURRENT_ADMISSION_PARENT_LABEL}
    gates = (*parent.spec.preemption_gates, PreemptionGate(name=CONCURRENT_ADMISSION_GATE))
    return Workload(
        metadata=ObjectMeta(
            name=_name(parent, flavor),
            namespace=metadata.namespace,
            labels=labels,
            annotations={**metadata.annotations, ALLOWED_FLAVORS_ANNOTATION: flavor},
            owner_references=(_reference(parent),),
        ),
        spec=replace(parent.spec, preemption_gates=gates),
        status=WorkloadStatus(),
    )


def _name(parent: Workload, flavor: str) -> str:
    """A deterministic name, so that creating a variant twice fails."""
    seed = "\n".join((parent.metadata.name, parent.metadata.uid, flavor)).encode()
    digest = hashlib.sha256(seed).hexdigest()[:HASH_LENGTH]
    return f"{f'{parent.metadata.name}-variant-{flavor}'[: MAX_NAME_LENGTH - HASH_LENGTH - 1].rstrip('-.')}-{digest}"


def _reference(parent: Workload) -> OwnerReference:
    resource = Workload.info.resource
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=parent.metadata.name,
        uid=parent.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
