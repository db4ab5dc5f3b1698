"""Kinds without a collection of their own: bodies of subresources, options of requests, and answers.

Their `resource` has no plural, so nobody builds a path to them by mistake.
"""

from typing import ClassVar

from kohort.api.core.objects import KindView, ObjectView
from kohort.api.meta import ListMeta
from kohort.api.resource import Resource
from kohort.api.struct import View


class Preconditions(View):
    """What must be true of an object for its deletion to go ahead."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(KindView):
    """How an object is to be deleted."""

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
    """How many replicas are wanted."""

    replicas: int = 0


class ScaleStatus(View):
    """How many replicas there are, and by which label selector they are found."""

    replicas: int = 0
    selector: str = ""


class Scale(ObjectView):
    """The `scale` subresource of kinds that can be resized."""

    resource: ClassVar = Resource("autoscaling", "v1", "Scale", "", namespaced=True)

    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


class StatusCause(View):
    """One reason of a refusal, at one field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(View):
    """What a refusal is about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class Status(KindView):
    """An API server's answer where no object is one: success, or what went wrong (API-9)."""

    resource: ClassVar = Resource("", "v1", "Status", "", namespaced=False)

    metadata: ListMeta = ListMeta()
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails = StatusDetails()
    code: int = 0
