"""The served resources: one `ServedResource` per group, version and plural, built-in or custom.

Built-in kinds and CustomResourceDefinitions produce them; handlers depend on nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.embedded.openapi import SchemaNode

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A subresource: `status`, `scale`, `log` …"""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    """Group and version of the body, if different from the resource's."""
    version: str = ""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One column of `kubectl get`; `path` is the JSONPath of a custom column."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Paths of replica count and selector in a custom resource."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True)
class ServedResource:
    """A kind at a version, with all that is needed to serve it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    schema: SchemaNode | None = None
    """Schema of the object; None without one."""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    """Printer columns of custom resources; built-in kinds have their own renderers."""
    selectable_fields: Mapping[str, str] = field(default_factory=dict)
    """Label of each field selector to the path of the field, e.g. `spec.nodeName`."""
    scale: ScalePaths | None = None
    is_custom: bool = False
    """Whether a CustomResourceDefinition defines it: no strategic merge patch, and pruning by schema."""
    storage_version: str = ""
    """The storage version, if it is another one."""
    stored_as: str = ""
    """Storage name of the resource whose objects it shares: both groups of Events are stored once."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """The version entry of the CustomResourceDefinition."""

    @property
    def key(self) -> str:
        """Storage name, the same for all versions: `pods`, `jobs.batch`."""
        return self.stored_as or self.qualified

    @property
    def qualified(self) -> str:
        """Qualified name in messages: `pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_served_by_store(self) -> bool:
        """Whether objects are stored; reviews and the like are not."""
        return "get" in self.verbs

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of this name."""
        return next((one for one in self.subresources if one.name == name), None)
