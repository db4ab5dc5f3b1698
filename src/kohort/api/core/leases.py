"""Leases, for leader election and node heartbeats."""

from typing import ClassVar

from kohort.api.core.objects import MicroTime, ObjectView
from kohort.api.resource import Resource
from kohort.api.struct import View


class LeaseSpec(View):
    """Holder and timing of a lease."""

    holder_identity: str = ""
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None


class Lease(ObjectView):
    """A coordination.k8s.io/v1 Lease."""

    resource: ClassVar = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)

    spec: LeaseSpec = LeaseSpec()
