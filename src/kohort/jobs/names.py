"""Names of Workloads: readable, and unique per UID of a job (JOB-39 to JOB-41)."""

from hashlib import sha1

from kohort.api.gates import FeatureGates, Gate
from kohort.api.resource import Resource

MAX_LENGTH = 253
MAX_SHORT_LENGTH = 63
"""With ShortWorkloadNames: fits a label value."""
HASH_LENGTH = 5


def workload_name(resource: Resource, owner: str, uid: str, gates: FeatureGates, extra: str = "") -> str:
    """The name of the Workload of an owner; `extra` distinguishes the slices of an elastic job (JOB-39)."""
    longest = MAX_SHORT_LENGTH if gates.enabled(Gate.ShortWorkloadNames) else MAX_LENGTH
    prefix = f"{resource.kind.lower()}-{owner}".encode()[: longest - HASH_LENGTH - 1].decode("utf-8", "ignore")
    hashed = "\n".join((resource.kind, resource.group, owner, uid, *((extra,) if extra else ())))
    # Other Kueue-aware tools compute the same hash; it has no security purpose.
    digest = sha1(hashed.encode(), usedforsecurity=False).hexdigest()
    return f"{prefix}-{digest[:HASH_LENGTH]}"
