"""Kinds of an API group: names, scope and printer columns; and the registry of all kinds.

A struct registers itself with its `info`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from kohort.api.meta import ObjectMeta
from kohort.api.resource import Resource
from kohort.api.struct import Struct


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column that `kubectl get` shows."""

    name: str
    json_path: str
    type: str = "string"
    wide: bool = False
    """Shown only with `-o wide`."""


AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True)
class KindInfo:
    """A custom kind in one of its versions (API-1, API-10)."""

    resource: Resource
    short_names: tuple[str, ...] = ()
    has_status: bool = False
    columns: tuple[PrinterColumn, ...] = ()
    is_storage: bool = False
    deprecation: str = ""
    """The deprecation warning of this version (API-2); empty if it is current."""
    selectable_fields: tuple[str, ...] = ()
    """JSON paths that field selectors support (API-11)."""

    @property
    def singular(self) -> str:
        """The kind in lower case, as kubectl accepts it."""
        return self.resource.kind.lower()


_KINDS: dict[tuple[str, str], "type[CustomObject]"] = {}


class CustomObject(Struct):
    """An object of a kind that Kohort defines; `apiVersion` and `kind` come from its class."""

    info: ClassVar[KindInfo]
    wire_head: ClassVar[bytes]

    metadata: ObjectMeta = ObjectMeta()

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        if "info" in cls.__dict__:
            resource = cls.info.resource
            cls.wire_head = f'"apiVersion":"{resource.api_version}","kind":"{resource.kind}"'.encode()
            _KINDS[resource.api_version, resource.kind] = cls


def kind_of(api_version: str, kind: str) -> type[CustomObject] | None:
    """The struct for an `apiVersion` and `kind`, if Kohort defines it."""
    return _KINDS.get((api_version, kind))


def all_kinds(group: str) -> list[type[CustomObject]]:
    """All kinds and versions of a group, in the order of declaration."""
    return [kind for kind in _KINDS.values() if kind.info.resource.group == group]
