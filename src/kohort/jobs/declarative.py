"""Declarative frameworks (JOB-231): paths of the suspend field, of templates and of status fields.

Paths are dotted; missing values count as absent. A plugin provides `declared_framework(text)` for its YAML.
"""

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any, ClassVar, Literal

import msgspec

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish, ManagedBy
from kohort.jobs.objects import value_at
from kohort.jobs.registry import RegistryError
from kohort.jobs.templated import PodTemplatePlace, TemplatedFramework
from kohort.jobs.topology import IndexLabels

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a declaration, with fields in snake case."""


class PodSetDeclaration(_Data, frozen=True, kw_only=True):
    """One pod set, or one for each item of a list."""

    template: str
    """Path of the template, relative to the item if there is a list."""
    name: str = ""
    name_path: str = ""
    """Path of an item's name."""
    count: str | int = 1
    """A number or its path."""
    default_count: int = 1
    foreach: str = ""
    """Path of the list, ending in `[*]`."""


class EndDeclaration(_Data, frozen=True, kw_only=True):
    """One way for a job to finish."""

    condition: str
    """Type of the condition that is True then."""
    success: bool
    message_path: str = ""
    """Member of the condition with the message."""


class Comparison(_Data, frozen=True, kw_only=True):
    """A status field, and the value to which it is compared."""

    path: str
    op: Literal[">", ">=", "<", "<=", "==", "!="]
    value: int | str
    """A number, a string, or `podsets` for the number of all pods."""


class ManagedByDeclaration(_Data, frozen=True, kw_only=True):
    """The field that names the controller of a job."""

    path: str
    native: str


class TopologyDeclaration(_Data, frozen=True, kw_only=True):
    """Labels of pods with their index in the pod set."""

    pod_index_label: str


class Declaration(_Data, frozen=True, kw_only=True):
    """A declarative framework."""

    name: str
    gvk: str
    """`group/version/Kind`."""
    plural: str = ""
    """Name of the resource (default: the kind in lower case with an `s`)."""
    suspend: str
    """Path of the suspend field; absent means False."""
    podsets: tuple[PodSetDeclaration, ...]
    finished: tuple[EndDeclaration, ...] = ()
    active: Comparison | None = None
    ready: Comparison | None = None
    priority_class: str = ""
    managed_by: ManagedByDeclaration | None = None
    tas: TopologyDeclaration | None = None


class DeclaredFramework(TemplatedFramework):
    """A framework defined by a declaration; created by `declared_framework`."""

    _declared: ClassVar[Declaration]

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The templates at their paths."""
        return [_place(each, item) for each in self._declared.podsets for item in _items(obj, each)]

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first end whose condition is True."""
        true = {
            each.get("type"): each
            for each in value_at(obj, ("status", "conditions")) or ()
            if each.get("status") == "True"
        }
        for end in self._declared.finished:
            if end.condition in true:
                message = value_at(true[end.condition], _path(end.message_path)) if end.message_path else ""
                return Finish(end.success, str(message or ""))
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """The declared comparison; without one a job is never active."""
        return self._holds(self._declared.active, obj)

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """The declared comparison."""
        return self._holds(self._declared.ready, obj)

    def priority_class(self, obj: JsonObject) -> str | None:
        """The value at the declared path, final even if empty; without a path that of the first template."""
        path = self._declared.priority_class
        return str(value_at(obj, _path(path)) or "") if path else None

    def _holds(self, comparison: Comparison | None, obj: JsonObject) -> bool:
        if comparison is None:
            return False
        wanted: Any = comparison.value
        if wanted == "podsets":
            wanted = sum(each.count for each in self.places(obj))
        found = value_at(obj, _path(comparison.path))
        if found is None:
            found = "" if isinstance(wanted, str) else 0
        return type(found) is type(wanted) and _COMPARISONS[comparison.op](found, wanted)


def _place(declared: PodSetDeclaration, item: Any) -> PodTemplatePlace:
    """One pod set of an object: its name, its count and the place of its template."""
    name = declared.name or value_at(item, _path(declared.name_path))
    count = value_at(item, _path(declared.count)) if isinstance(declared.count, str) else declared.count
    number = declared.default_count if count is None else int(count)
    return PodTemplatePlace(str(name or "").lower(), number, item, _path(declared.template))


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.split("."))


def declared_framework(text: str) -> DeclaredFramework:
    """The framework that a YAML text declares; raises RegistryError (JOB-231, JOB-232)."""
    try:
        declared = msgspec.yaml.decode(text, type=Declaration)
        group, version, kind = declared.gvk.split("/")
    except (msgspec.MsgspecError, ValueError) as error:
        raise RegistryError(f"not a declaration of a framework: {error}") from None
    managed_by = declared.managed_by
    facts = {
        "name": declared.name,
        "resource": Resource(group, version, kind, declared.plural or f"{kind.lower()}s", namespaced=True),
        "managed_by": ManagedBy(tuple(managed_by.path.split(".")), managed_by.native) if managed_by else None,
        "index_labels": IndexLabels(declared.tas.pod_index_label) if declared.tas else None,
        "suspend_path": _path(declared.suspend),
        "_declared": declared,
    }
    made: type[DeclaredFramework] = type(kind, (DeclaredFramework,), facts)
    return made()


def _items(obj: JsonObject, declared: PodSetDeclaration) -> list[Any]:
    if not declared.foreach:
        return [obj]
    return list(value_at(obj, _path(declared.foreach.removesuffix("[*]"))) or ())
