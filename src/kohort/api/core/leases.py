"""Leases, by which replicas agree on a leader and nodes show that they live."""

from typing import ClassVar

from kohort.api.core.objects import MicroTime, ObjectView
from kohort.api.resource import Resource
from kohort.api.struct import View


class LeaseSpec(View):
    """Who holds a lease, since when and for how long."""

    holder_identity: str = ""
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None


class Lease(ObjectView):
    """A coordination.k8s.io/v1 Lease."""

    resource: ClassVar = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)

    spec: LeaseSpec = LeaseSpec()
