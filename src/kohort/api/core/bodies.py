"""Kinds without a collection: bodies of subresources, options of requests, and responses.

Their `resource` has no plural, so that no path can be built for them by mistake.
"""

from typing import ClassVar

from kohort.api.core.objects import KindView, ObjectView
from kohort.api.meta import ListMeta
from kohort.api.resource import Resource
from kohort.api.struct import View


class Preconditions(View):
    """Preconditions of a deletion."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(KindView):
    """Options of a deletion."""

    resource: ClassVar = Resource("", "v1", "DeleteOptions", "", namespaced=False)

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str = ""
    orphan_dependents: bool | None = None
    dry_run: tuple[str, ...] = ()


class Eviction(ObjectView):
    """A request to remove a pod, posted to its `eviction` subresource."""

    resource: ClassVar = Resource("policy", "v1", "Eviction", "", namespaced=True)

    delete_options: DeleteOptions | None = None


class ScaleSpec(View):
    """Desired number of replicas."""

    replicas: int = 0


class ScaleStatus(View):
    """Current number of replicas, and their label selector."""

    replicas: int = 0
    selector: str = ""


class Scale(ObjectView):
    """The `scale` subresource."""

    resource: ClassVar = Resource("autoscaling", "v1", "Scale", "", namespaced=True)

    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


class StatusCause(View):
    """A cause of an error, for one field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(View):
    """Details of an error."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(KindView):
    """A response without an object: success or an error (API-9)."""

    resource: ClassVar = Resource("", "v1", "Status", "", namespaced=False)

    metadata: ListMeta = ListMeta()
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = StatusDetails()
    code: int = 0
