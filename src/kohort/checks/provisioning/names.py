"""Names of ProvisioningRequests and their pod templates, and what marks them (MK-20, MK-31)."""

from hashlib import sha1
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource

REQUESTS: Final = Resource("autoscaling.x-k8s.io", "v1", "ProvisioningRequest", "provisioningrequests", namespaced=True)
ATTEMPT_LABEL: Final = "kohort.dev/provisioning-attempt"
"""The number of the attempt, which a shortened name does not have (MK-31)."""
MANAGED_LABEL: Final = "kueue.x-k8s.io/managed"
PARAMETER_PREFIX: Final = "provreq.kueue.x-k8s.io/"
"""Prefix of annotations that override parameters (MK-21)."""
CONSUME_ANNOTATION: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_ANNOTATION: Final = "autoscaling.x-k8s.io/provisioning-class-name"
_LONGEST: Final = 247


def request_name(workload: str, check: str, attempt: int) -> str:
    """The name of a request."""
    return _shortened(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    """The name of a pod template of a request."""
    return _shortened(f"ppt-{request}-{pod_set}")


def attempt_of(request: JsonObject) -> int:
    """The number of a request's attempt: by its label, else by its name; 0 if it has neither."""
    metadata = request.get("metadata") or {}
    text = (metadata.get("labels") or {}).get(ATTEMPT_LABEL) or str(metadata.get("name", "")).rpartition("-")[2]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _shortened(full: str) -> str:
    if len(full) <= _LONGEST:
        return full
    # The hash only keeps names apart; Kueue computes the same one.
    digest = sha1(full.encode(), usedforsecurity=False).hexdigest()
    return f"{full[:_LONGEST]}-{digest[:5]}"
