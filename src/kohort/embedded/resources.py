"""What the API server serves: one `Resource` per group, version and plural, built in or defined by a user.

Whoever brings kinds (the built-in ones, CustomResourceDefinitions) makes these; whoever serves them looks nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.embedded.openapi import SchemaNode

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """`status`, `scale`, `log` …: what can be asked of one object besides itself."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    """Group and version of what is sent and answered, where they are not the resource's own."""
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
    """Where a custom resource keeps its replica count and selector."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True)
class ServedResource:
    """A kind at a version, and everything that serving it takes."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    schema: SchemaNode | None = None
    """Schema of the object; None where it is free of any."""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    subresources: tuple[Subresource, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    """Custom columns; the built-in kinds have renderers of their own."""
    selectable_fields: Mapping[str, str] = field(default_factory=dict)
    """Label of each field selector to the path of the field, e.g. `spec.nodeName`."""
    scale: ScalePaths | None = None
    is_custom: bool = False
    """Whether a CustomResourceDefinition defines it: then no strategic patches, and its schema prunes."""
    storage_version: str = ""
    """The version in which objects are stored, where it is not this one."""
    stored_as: str = ""
    """The store's name of the resource, where it shares the objects of another: both groups of Events are one."""
    definition: Mapping[str, Any] = field(default_factory=dict)
    """The version entry of the CustomResourceDefinition, for what only custom resources have."""

    @property
    def key(self) -> str:
        """The store's name of the resource, the same for all its versions: `pods`, `jobs.batch`."""
        return self.stored_as or self.qualified

    @property
    def qualified(self) -> str:
        """What people and error messages call it: `pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """`v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_served_by_store(self) -> bool:
        """Whether objects of it are kept; reviews and the like are answered and forgotten."""
        return "get" in self.verbs

    def subresource(self, name: str) -> Subresource | None:
        """One of its subresources."""
        return next((one for one in self.subresources if one.name == name), None)
