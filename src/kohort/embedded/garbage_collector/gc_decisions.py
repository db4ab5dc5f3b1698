"""Decides what to do with an object whose owners are known; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.metadata_client import FOREGROUND, ORPHAN, GcMetadata


class OwnerState(Enum):
    """State of the owner of a reference."""

    SOLID = "the owner is there"
    DANGLING = "the owner is not there, or is another one of the same name"
    WAITING = "the owner waits for its dependents to be deleted before it goes"


@dataclass(frozen=True, slots=True)
class OwnerRefState:
    """An owner reference and the state of the owner."""

    reference: OwnerReference
    state: OwnerState


@dataclass(frozen=True, slots=True)
class Detach:
    """Remove these references; the object has other owners."""

    references: tuple[OwnerReference, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object."""

    propagation: str


GcDecision = Detach | Delete | None


def decide(found: GcMetadata, owners: Sequence[OwnerRefState], dependents: int) -> GcDecision:
    """None to keep the object; `dependents` is the number of objects that it owns."""
    lost = tuple(owned.reference for owned in owners if owned.state is not OwnerState.SOLID)
    if not lost:
        return None
    if len(lost) < len(owners):
        return Detach(lost)
    if dependents and any(owned.state is OwnerState.WAITING for owned in owners):
        return Delete("Foreground")
    return Delete(_propagation(found))


def _propagation(found: GcMetadata) -> str:
    """Propagation policy: as requested by the object's finalizers, otherwise background."""
    if ORPHAN in found.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in found.finalizers else "Background"
