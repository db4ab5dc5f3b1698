"""Names of Workloads: readable, and one per life of a job (JOB-39 to JOB-41)."""

from hashlib import sha1

from kohort.api.gates import FeatureGates, Gate
from kohort.api.resource import Resource

LONGEST = 253
LONGEST_SHORT = 63
"""With ShortWorkloadNames: fits a label value."""
HASH_LENGTH = 5


def workload_name(resource: Resource, owner: str, uid: str, gates: FeatureGates, extra: str = "") -> str:
    """The name of the Workload of an owner; `extra` tells the slices of an elastic job apart (JOB-39)."""
    longest = LONGEST_SHORT if gates.enabled(Gate.ShortWorkloadNames) else LONGEST
    prefix = f"{resource.kind.lower()}-{owner}".encode()[: longest - HASH_LENGTH - 1].decode("utf-8", "ignore")
    hashed = "\n".join((resource.kind, resource.group, owner, uid, *((extra,) if extra else ())))
    # The hash is a name that other Kueue-aware tools compute too; nothing is kept safe by it.
    digest = sha1(hashed.encode(), usedforsecurity=False).hexdigest()
    return f"{prefix}-{digest[:HASH_LENGTH]}"
