"""Markers for what a type annotation cannot express: bounds, patterns, list types.

Markers are used in `Annotated[...]`; decoding ignores them, so that objects stored under looser rules stay readable
(API-75). The schema (`kohort.api.schema`) reads them; validation, CRDs and reference pages derive from it.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

ListType = Literal["atomic", "set", "map"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a number, a text, a list or a map."""

    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that a text must match."""

    regex: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """A closed set of values for a field whose Python type is `str`, because other values may be stored."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Format:
    """The OpenAPI format: int32, int64, date-time …"""

    name: str


@dataclass(frozen=True, slots=True)
class Merge:
    """How server-side apply merges the list or map: `x-kubernetes-list-type`, its keys, or `x-kubernetes-map-type`."""

    list_type: ListType
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IntOrString:
    """The value is a number or a text (quantities, ports)."""


@dataclass(frozen=True, slots=True)
class Required:
    """The schema requires the field although the struct has a default, because stored objects may lack it."""


@dataclass(frozen=True, slots=True)
class Default:
    """A schema default that the struct cannot have, because it would be decoded as absent."""

    value: str


@dataclass(frozen=True, slots=True)
class NoSchemaDefault:
    """The struct's default is for convenience only, and not a default of the schema."""


@dataclass(frozen=True, slots=True)
class Holds:
    """A raw JSON field whose content has this view; unknown fields are kept."""

    view: type


SUBDOMAIN_REGEX = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL_REGEX = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
QUALIFIED_NAME_REGEX = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
QUANTITY_REGEX = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

ATOMIC = Merge("atomic")
SET = Merge("set")


def keyed(*keys: str) -> Merge:
    """A list merged per key (`x-kubernetes-list-type: map`)."""
    return Merge("map", keys)


Int32 = Annotated[int, Format("int32")]
Int64 = Annotated[int, Format("int64")]
Subdomain = Annotated[str, Bounds(max_length=253), Pattern(SUBDOMAIN_REGEX)]
"""SUB of the specification: a DNS subdomain, the format of most object names."""
Label = Annotated[str, Bounds(max_length=63), Pattern(LABEL_REGEX)]
"""LBL of the specification: a DNS label."""
RawQuantity = Annotated[int | float | str, IntOrString(), Pattern(QUANTITY_REGEX)]
"""QTY of the specification, as written; `kohort.api.quantity` implements it."""
ResourceList = dict[str, RawQuantity]
