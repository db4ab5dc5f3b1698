"""Namespaces and the policies in them: LimitRange and ResourceQuota.

Quantities stay as written; `kohort.api.quantity` gives them meaning.
"""

from typing import Any, ClassVar

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.markers import ResourceList
from kohort.api.resource import Resource
from kohort.api.struct import View


class NamespaceSpec(View):
    """Finalizers of a namespace."""

    finalizers: tuple[str, ...] = ()


class NamespaceStatus(View):
    """Status of a namespace."""

    phase: str = ""
    conditions: tuple[StatusCondition, ...] = ()


class Namespace(ObjectView):
    """A namespace."""

    resource: ClassVar = Resource("", "v1", "Namespace", "namespaces", namespaced=False)

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class LimitRangeItem(View):
    """Bounds and defaults for one type: Container, Pod or PersistentVolumeClaim."""

    type: str = ""
    max: ResourceList = {}
    min: ResourceList = {}
    default: ResourceList = {}
    default_request: ResourceList = {}
    max_limit_request_ratio: ResourceList = {}


class LimitRangeSpec(View):
    """The items of a LimitRange."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ObjectView):
    """Bounds and defaults for resources of pods in a namespace (SCH-121, SCH-124)."""

    resource: ClassVar = Resource("", "v1", "LimitRange", "limitranges", namespaced=True)

    spec: LimitRangeSpec = LimitRangeSpec()


class ResourceQuotaSpec(View):
    """Spec of a ResourceQuota."""

    hard: ResourceList = {}
    scopes: tuple[str, ...] = ()
    scope_selector: Any = None


class ResourceQuotaStatus(View):
    """Status of a ResourceQuota."""

    hard: ResourceList = {}
    used: ResourceList = {}


class ResourceQuota(ObjectView):
    """A ResourceQuota of Kubernetes."""

    resource: ClassVar = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()
