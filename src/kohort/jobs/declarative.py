"""Declarative frameworks (JOB-231): adapters of job kinds as YAML, for kinds with a suspend field and templates inside.

A plugin provides `declared_framework(text)` for its YAML; `--framework FILE` adds one to a manager, a ConfigMap with
`DECLARATION_LABEL` to a running one.
A YAML text may also declare a kind that is not queued itself (`declared_owners`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from kohort.api.codec import JsonObject
from kohort.api.names import check_label, check_subdomain
from kohort.api.resource import Resource
from kohort.jobs.contract import ClusterReader, DeclaredKind, Finish, ManagedBy
from kohort.jobs.declarations import (
    Comparison,
    Declaration,
    EndDeclaration,
    PodSetDeclaration,
    PropagatorDeclaration,
    TransitDeclaration,
    amount_of,
    items_at,
    split_path,
)
from kohort.jobs.declared_owners import propagator_of, transit_of
from kohort.jobs.objects import value_at
from kohort.jobs.registry import RegistryError
from kohort.jobs.templated import PodTemplatePlace, TemplatedFramework
from kohort.jobs.topology import IndexLabels

DECLARATION_LABEL = "kohort.dev/framework"
"""Label of ConfigMaps in the manager's namespace whose keys are declarations, with the value `true` (JOB-236)."""
ALL_PODS = "podsets"
"""Value of a comparison that stands for the number of all pods."""
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le, "==": eq, "!=": ne}


class DeclaredFramework(DeclaredKind, TemplatedFramework):
    """A framework defined by a declaration; created by `declared_framework`."""

    declaration: ClassVar[Declaration]

    def places(self, obj: JsonObject) -> list[PodTemplatePlace]:
        """The templates at their paths."""
        return [place for each in self.declaration.podsets for place in declared_places(each, obj)]

    def finished(self, obj: JsonObject) -> Finish | None:
        """The first end that the status shows."""
        return next((found for end in self.declaration.finished if (found := _finish(obj, end)) is not None), None)

    def is_active(self, obj: JsonObject) -> bool:
        """The declared comparison; without one a job is never active."""
        return self._holds(self.declaration.active, obj)

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """The declared comparison."""
        return self._holds(self.declaration.ready, obj)

    def priority_class(self, obj: JsonObject) -> str | None:
        """The value at the declared path, final even if empty; without a path that of the first template."""
        path = self.declaration.priority_class
        return str(value_at(obj, split_path(path)) or "") if path else None

    def _holds(self, comparison: Comparison | None, obj: JsonObject) -> bool:
        if comparison is None:
            return False
        if comparison.condition:
            return _true_condition(obj, comparison.condition) is not None
        compare, wanted = _COMPARISONS[comparison.op], comparison.value
        if wanted == ALL_PODS:
            wanted = sum(each.count for each in self.places(obj))
        if isinstance(wanted, str):
            path = comparison.path if isinstance(comparison.path, str) else ""
            return compare(str(value_at(obj, split_path(path)) or ""), wanted)
        return compare(amount_of(obj, comparison.path) or 0, amount_of(obj, wanted) or 0)


def declared_places(declared: PodSetDeclaration, obj: JsonObject) -> Iterator[PodTemplatePlace]:
    """The pod sets of one declaration, in order; raises DecodeError for counts that are no numbers."""
    for key, item in _items(declared, obj):
        count = amount_of(item, declared.count)
        groups = declared.sub_group_count
        name = declared.name or value_at(item, split_path(declared.name_path)) or key
        yield PodTemplatePlace(
            str(name).lower(),
            declared.default_count if count is None else count,
            item,
            split_path(declared.template),
            amount_of(item, groups) if groups is not None else None,
        )


def _items(declared: PodSetDeclaration, obj: JsonObject) -> Iterable[tuple[str, JsonObject]]:
    if declared.foreach:
        return items_at(obj, declared.foreach)
    part = value_at(obj, split_path(declared.at)) if declared.at else obj
    return [] if part is None else [("", part)]


def _finish(obj: JsonObject, end: EndDeclaration) -> Finish | None:
    if end.condition:
        found = _true_condition(obj, end.condition)
    else:
        found = obj if str(value_at(obj, split_path(end.path)) or "") in end.values else None
    if found is None:
        return None
    message = value_at(found, split_path(end.message_path)) if end.message_path else ""
    return Finish(end.success, str(message or ""))


def _true_condition(obj: JsonObject, type_: str) -> JsonObject | None:
    conditions = value_at(obj, ("status", "conditions")) or ()
    return next((each for each in conditions if each.get("type") == type_ and each.get("status") == "True"), None)


def load_framework(file: Path) -> DeclaredKind:
    """The framework that a YAML file declares; raises RegistryError."""
    try:
        return parse_framework(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, RegistryError) as error:
        raise RegistryError(f"{file}: {error}") from None


def parse_framework(text: str) -> DeclaredKind:
    """The framework of any kind that a YAML text declares; raises RegistryError (JOB-231, JOB-233)."""
    with _explained_errors():
        members = msgspec.yaml.decode(text)
        if isinstance(members, dict) and "propagate" in members:
            propagator = msgspec.yaml.decode(text, type=PropagatorDeclaration)
            return propagator_of(propagator, _resource(propagator))
        if isinstance(members, dict) and "transit" in members:
            transit = msgspec.yaml.decode(text, type=TransitDeclaration)
            return transit_of(transit, _resource(transit))
    return declared_framework(text)


def declared_framework(text: str) -> DeclaredFramework:
    """The framework of jobs that a YAML text declares; raises RegistryError (JOB-231, JOB-232)."""
    with _explained_errors():
        declared = msgspec.yaml.decode(text, type=Declaration)
        resource = _resource(declared)
        _check(declared)
    managed_by, labels = declared.managed_by, declared.tas
    facts = {
        "name": declared.name,
        "resource": resource,
        "managed_by": ManagedBy(split_path(managed_by.path), managed_by.native) if managed_by else None,
        "index_labels": IndexLabels(labels.pod_index_label, labels.sub_group_index_label) if labels else None,
        "suspend_path": split_path(declared.suspend),
        "supports_prebuilt": declared.prebuilt,
        "declaration": declared,
    }
    made: type[DeclaredFramework] = type(resource.kind, (DeclaredFramework,), facts)
    return made()


@contextmanager
def _explained_errors() -> Iterator[None]:
    """Raises RegistryError, with one line, for a text that is no declaration."""
    try:
        yield
    except (msgspec.MsgspecError, ValueError) as error:
        why = " ".join(str(error).split())
        raise RegistryError(f"not a declaration of a framework: {why}") from None


def _resource(declared: Declaration | PropagatorDeclaration | TransitDeclaration) -> Resource:
    group, version, kind = declared.gvk.split("/")
    if check_subdomain(group) or check_label(version) or not kind.isalnum():
        raise ValueError(f"gvk: {declared.gvk!r} must be group/version/Kind")
    return Resource(group, version, kind, declared.plural or f"{kind.lower()}s", namespaced=True)


def _check(declared: Declaration) -> None:
    """Raise ValueError for the first part that means nothing."""
    for index, pod_set in enumerate(declared.podsets):
        if not (pod_set.name or pod_set.name_path or pod_set.foreach):
            raise ValueError(f"podsets[{index}]: name or name_path is required")
        if pod_set.at and pod_set.foreach:
            raise ValueError(f"podsets[{index}]: at and foreach are mutually exclusive")
    for index, end in enumerate(declared.finished):
        if bool(end.condition) == bool(end.path and end.values):
            raise ValueError(f"finished[{index}]: either condition, or path with equals is required")
    for name, comparison in (("active", declared.active), ("ready", declared.ready)):
        if comparison is not None and bool(comparison.condition) == bool(comparison.path):
            raise ValueError(f"{name}: either condition or path is required")
