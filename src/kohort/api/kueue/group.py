"""Names that all kinds of the group share."""

from kohort.api.resource import Resource

GROUP = "kueue.x-k8s.io"
RESOURCE_IN_USE_FINALIZER = "kueue.x-k8s.io/resource-in-use"
"""Finalizer of objects in use (API-30, API-40)."""


def cluster_scoped(version: str, kind: str, plural: str) -> Resource:
    """A cluster-scoped kind."""
    return Resource(GROUP, version, kind, plural, namespaced=False)


def namespaced(version: str, kind: str, plural: str) -> Resource:
    """A namespaced kind."""
    return Resource(GROUP, version, kind, plural, namespaced=True)


def deprecated_for_v1beta2(kind: str) -> str:
    """The warning of a request through v1beta1 (API-2)."""
    return f"{GROUP}/v1beta1 {kind} is deprecated; use {GROUP}/v1beta2 {kind}"
