"""Frameworks as pure data (JOB-231): a switch, templates at paths, and where the status says how it goes.

A path is dotted; what is not there counts as absent. A plugin offers `declared_framework(text)` of its YAML.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import eq, ge, gt, le, lt, ne
from typing import Any, ClassVar, Literal

import msgspec

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, Finish, Framework, ManagedBy
from kohort.jobs.podsets import JobPodSet, PodSetInfo, Template, expect_count, merge_info, restore_info
from kohort.jobs.registry import RegistryError
from kohort.jobs.topology import topology_request

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a declaration; its members are spelled as they are here."""


class PodSetDeclaration(_Data, frozen=True, kw_only=True):
    """One pod set, or one for each item of a list."""

    template: str
    """Path of the template, from the item where there is a list."""
    name: str = ""
    name_path: str = ""
    """Where an item says its name."""
    count: str | int = 1
    """A number, or the path of one."""
    default_count: int = 1
    foreach: str = ""
    """Path of the list, ending in `[*]`."""


class EndDeclaration(_Data, frozen=True, kw_only=True):
    """One way for a job to end."""

    condition: str
    """Type of a condition that is True then."""
    success: bool
    message_path: str = ""
    """Member of the condition that says more."""


class Comparison(_Data, frozen=True, kw_only=True):
    """A figure of the status, and what it is held against."""

    path: str
    op: Literal[">", ">=", "<", "<=", "==", "!="]
    value: int | str
    """A number, a text, or `podsets` for the number of all pods."""


class ManagedByDeclaration(_Data, frozen=True, kw_only=True):
    """Where the kind says which controller runs it."""

    path: str
    native: str


class TopologyDeclaration(_Data, frozen=True, kw_only=True):
    """Labels of pods that tell their place in their set."""

    pod_index_label: str


class Declaration(_Data, frozen=True, kw_only=True):
    """A framework in data."""

    name: str
    gvk: str
    """`group/version/Kind`."""
    plural: str = ""
    """Name of the resource; the kind in lower case with an `s` where nothing is said."""
    suspend: str
    """Path of the switch; absent means False."""
    podsets: tuple[PodSetDeclaration, ...]
    finished: tuple[EndDeclaration, ...] = ()
    active: Comparison | None = None
    ready: Comparison | None = None
    priority_class: str = ""
    managed_by: ManagedByDeclaration | None = None
    tas: TopologyDeclaration | None = None


class _Place:
    """One pod set of an object: its name, its count and its template."""

    def __init__(self, declared: PodSetDeclaration, item: Any) -> None:
        self.name = str(declared.name or value_at(item, declared.name_path) or "").lower()
        count = value_at(item, declared.count) if isinstance(declared.count, str) else declared.count
        self.count = declared.default_count if count is None else int(count)
        self.template: Template = value_at(item, declared.template) or {}


def value_at(value: Any, path: str) -> Any:
    """What stands at a path; None where nothing does."""
    for step in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def _put(obj: JsonObject, path: str, value: Any) -> None:
    *steps, last = path.split(".")
    for step in steps:
        obj = obj.setdefault(step, {})
    obj[last] = value


class DeclaredFramework(Framework):
    """A framework that does what its declaration says; `declared_framework` makes one."""

    _declared: ClassVar[Declaration]

    def _places(self, obj: JsonObject) -> list[_Place]:
        return [_Place(each, item) for each in self._declared.podsets for item in _items(obj, each)]

    @property
    def suspend_field(self) -> str:
        """The path of the switch."""
        return self._declared.suspend

    def is_suspended(self, obj: JsonObject) -> bool:
        """Whether the switch says so."""
        return value_at(obj, self._declared.suspend) is True

    def suspend(self, obj: JsonObject) -> None:
        """Set the switch."""
        _put(obj, self._declared.suspend, value=True)

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """The templates at their paths."""
        label = self._declared.tas.pod_index_label if self._declared.tas else None
        return [
            JobPodSet(
                each.name,
                each.count,
                deepcopy(each.template),
                None,
                topology_request(each.template, reads.gates, label),
            )
            for each in self._places(obj)
        ]

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Clear the switch, and add to each template what it is given."""
        self._fill(obj)
        places = self._places(obj)
        expect_count(infos, len(places))
        _put(obj, self._declared.suspend, value=False)
        for place, info in zip(places, infos, strict=True):
            merge_info(place.template, info)

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Put each template back as it was."""
        places = self._places(obj)
        if len(places) != len(originals):
            return False
        for place, original in zip(places, originals, strict=True):
            restore_info(place.template, original)
        return True

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first end whose condition is True."""
        true = {
            each.get("type"): each for each in value_at(obj, "status.conditions") or () if each.get("status") == "True"
        }
        for end in self._declared.finished:
            if end.condition in true:
                message = value_at(true[end.condition], end.message_path) if end.message_path else ""
                return Finish(end.success, str(message or ""))
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """What the status says; a kind that does not say is never active."""
        return self._holds(self._declared.active, obj)

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """What the status says."""
        return self._holds(self._declared.ready, obj)

    def priority_class(self, obj: JsonObject) -> str | None:
        """What stands at the path, final even if empty; that of the first template where there is no path."""
        path = self._declared.priority_class
        return str(value_at(obj, path) or "") if path else None

    def _holds(self, comparison: Comparison | None, obj: JsonObject) -> bool:
        if comparison is None:
            return False
        wanted: Any = comparison.value
        if wanted == "podsets":
            wanted = sum(place.count for place in self._places(obj))
        found = value_at(obj, comparison.path)
        if found is None:
            found = "" if isinstance(wanted, str) else 0
        return type(found) is type(wanted) and _COMPARISONS[comparison.op](found, wanted)

    def _fill(self, obj: JsonObject) -> None:
        """Give templates a place that have none yet, so that something can be added to them."""
        for each in self._declared.podsets:
            for item in _items(obj, each):
                if value_at(item, each.template) is None:
                    _put(item, each.template, {})


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
        "_declared": declared,
    }
    made: type[DeclaredFramework] = type(kind, (DeclaredFramework,), facts)
    return made()


def _items(obj: JsonObject, declared: PodSetDeclaration) -> list[Any]:
    if not declared.foreach:
        return [obj]
    return list(value_at(obj, declared.foreach.removesuffix("[*]")) or ())
