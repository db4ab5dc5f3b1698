"""Parents and their variants as objects: who becomes a parent, which variants it lacks, which have no flavor any more.

What becomes of them afterwards is `lifecycle.variants`' business (SCH-1110).
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
from kohort.engine.lifecycle.preemption_gates import CONCURRENT_ADMISSION_GATE
from kohort.engine.record_builders import is_parent

LONGEST_NAME: Final = 63
HASH: Final = 5
"""Characters that keep variants of equal beginnings apart."""


def becomes_parent(workload: Workload, queue: ClusterQueue | None, gates: FeatureGates) -> bool:
    """Whether variants are to stand for a Workload that does not say so yet."""
    if not gates.enabled(Gate.ConcurrentAdmission) or queue is None or queue.spec.concurrent_admission_policy is None:
        return False
    settled = is_finished(workload) or is_reserved(workload) or workload.metadata.deletion_timestamp is not None
    return not (settled or is_parent(workload) or _is_variant(workload))


def _is_variant(workload: Workload) -> bool:
    return any(owner.kind == "Workload" for owner in workload.metadata.owner_references)


def as_parent(workload: Workload) -> Workload:
    """The Workload with the label that takes it out of all queues."""
    labels = {**workload.metadata.labels, CONCURRENT_ADMISSION_PARENT_LABEL: "true"}
    return replace(workload, metadata=replace(workload.metadata, labels=labels))


def missing_variants(parent: Workload, variants: Iterable[Workload], flavors: Iterable[str]) -> list[Workload]:
    """One for each flavor that has none, the best flavor first."""
    present = {flavor_of(each) for each in variants}
    return [_variant(parent, flavor) for flavor in flavors if flavor not in present]


def stale_variants(variants: Iterable[Workload], flavors: Iterable[str]) -> list[Workload]:
    """Those whose flavor the queue no longer has."""
    offered = frozenset(flavors)
    return [each for each in variants if flavor_of(each) not in offered]


def flavor_of(variant: Workload) -> str:
    """The flavor that a variant is bound to."""
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
    """The same name each time, so that a variant made twice is made once."""
    told = "\n".join((parent.metadata.name, parent.metadata.uid, flavor)).encode()
    digest = hashlib.sha256(told).hexdigest()[:HASH]
    return f"{f'{parent.metadata.name}-variant-{flavor}'[: LONGEST_NAME - HASH - 1].rstrip('-.')}-{digest}"


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
