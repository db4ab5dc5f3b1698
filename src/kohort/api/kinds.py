"""What makes a struct a kind of an API group: its names, its place, its columns; and the register of all kinds.

A kind declares itself by its `info`; nothing else lists kinds.
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
    """The warning that a request through this version gets (API-2); empty where the version is current."""
    selectable_fields: tuple[str, ...] = ()
    """JSON paths that field selectors may name (API-11)."""

    @property
    def singular(self) -> str:
        """The kind in lower case, as kubectl takes it."""
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
    """The struct for an `apiVersion` and `kind`, if it is one of ours."""
    return _KINDS.get((api_version, kind))


def all_kinds(group: str) -> list[type[CustomObject]]:
    """Every kind and version of a group, in the order of their declaration."""
    return [kind for kind in _KINDS.values() if kind.info.resource.group == group]
