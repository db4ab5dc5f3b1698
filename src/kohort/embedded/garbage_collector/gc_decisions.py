"""What is to be done with an object whose owners are known for certain; pure, so that each case is one line to test."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kohort.api.meta import OwnerReference
from kohort.embedded.garbage_collector.metadata_client import FOREGROUND, ORPHAN, GcMetadata


class OwnerState(Enum):
    """What a reference to an owner is worth."""

    SOLID = "the owner is there"
    DANGLING = "the owner is not there, or is another one of the same name"
    WAITING = "the owner waits for its dependents to be deleted before it goes"


@dataclass(frozen=True, slots=True)
class OwnerRefState:
    """An owner reference, and what it is worth."""

    reference: OwnerReference
    hold: OwnerState


@dataclass(frozen=True, slots=True)
class Detach:
    """Drop these references; the object stays for the sake of its other owners."""

    references: tuple[OwnerReference, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete the object."""

    propagation: str


Verdict = Detach | Delete | None


def decide(found: GcMetadata, owners: Sequence[OwnerRefState], dependents: int) -> Verdict:
    """None to leave it as it is; `dependents` says how many objects it owns itself."""
    lost = tuple(owned.reference for owned in owners if owned.hold is not OwnerState.SOLID)
    if not lost:
        return None
    if len(lost) < len(owners):
        return Detach(lost)
    if dependents and any(owned.hold is OwnerState.WAITING for owned in owners):
        return Delete("Foreground")
    return Delete(_asked_for(found))


def _asked_for(found: GcMetadata) -> str:
    """How the object's own dependents go: as somebody has laid down in its finalizers, else after it."""
    if ORPHAN in found.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in found.finalizers else "Background"
