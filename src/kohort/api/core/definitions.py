"""CustomResourceDefinitions, without their schemas."""

from typing import ClassVar

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.resource import Resource
from kohort.api.struct import View


class DefinedNames(View):
    """Names of a custom resource."""

    plural: str = ""


class DefinedVersion(View):
    """A version of a custom resource."""

    name: str = ""
    served: bool = False


class DefinitionSpec(View):
    """Group, names and versions."""

    group: str = ""
    names: DefinedNames = DefinedNames()
    versions: tuple[DefinedVersion, ...] = ()


class DefinitionStatus(View):
    """Whether the resource is served."""

    conditions: tuple[StatusCondition, ...] = ()


class CustomResourceDefinition(ObjectView):
    """An apiextensions.k8s.io/v1 CustomResourceDefinition."""

    resource: ClassVar = Resource(
        "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
    )

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()
