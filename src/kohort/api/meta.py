"""Pieces that every kind shares: object metadata, conditions, label selectors, taints and tolerations.

Their rules (API-6, API-37, API-38) are declared here once, for Kohort's kinds and for views on foreign ones.
"""

from collections.abc import Callable
from datetime import datetime
from sys import intern
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import force_setattr

from kohort.api.markers import (
    ATOMIC,
    QUALIFIED_NAME_REGEX,
    Bounds,
    Format,
    Int64,
    Pattern,
)
from kohort.api.rules import Check, Rule
from kohort.api.struct import Struct, View

Time = Annotated[datetime, msgspec.Meta(tz=True), Format("date-time")]
"""An instant with time zone; second precision on the wire."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(View):
    """The object that owns another; the owner's deletion takes the owned object along."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(View):
    """What Kohort reads of an object's metadata. Managed fields are left to the API server."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ListMeta(View):
    """Metadata of a list answer."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


K = TypeVar("K")


class ObjectList(View, Generic[K]):
    """A list answer with typed items."""

    metadata: ListMeta = ListMeta()
    items: tuple[K, ...] = ()


ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(Struct):
    """One aspect of an object's state (API-6)."""

    type: Annotated[str, Bounds(max_length=316), Pattern(QUALIFIED_NAME_REGEX)]
    """Name of the aspect, unique within the list."""
    status: ConditionStatus
    """Whether the condition holds."""
    reason: Annotated[str, Bounds(min_length=1, max_length=1024), Pattern(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    """One CamelCase word for programs."""
    message: Annotated[str, Bounds(max_length=32768)]
    """A sentence for people; may be empty."""
    last_transition_time: Time
    """When `status` last changed its value."""
    observed_generation: Annotated[Int64, Bounds(minimum=0)] | None = None
    """The object's generation that the condition speaks of."""

    def __post_init__(self) -> None:
        # The same few texts are in the conditions of very many objects: each is kept once.
        force_setattr(self, "type", intern(self.type))
        force_setattr(self, "reason", intern(self.reason))
        force_setattr(self, "message", intern(self.message))


class LabelSelectorRequirement(Struct):
    """One demand on a label."""

    key: str
    """The label's key."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: Annotated[tuple[str, ...], ATOMIC] = ()
    """Values for In and NotIn; empty for the other two."""


class LabelSelector(Struct):
    """A demand on labels; all parts must hold, and an empty selector matches everything."""

    match_labels: dict[str, str] = {}
    """Labels that must be present with exactly these values."""
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()
    """Further demands, all of which must hold."""


TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Taint(Struct):
    """A mark on a node that keeps away pods which do not tolerate it."""

    key: str
    """Key of the taint, shaped like a label key."""
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""
    value: str = ""
    """Value of the taint, shaped like a label value."""
    time_added: Time | None = None
    """When a NoExecute taint was added."""


class Toleration(Struct):
    """Leave for a pod to run on nodes with a matching taint."""

    key: str = ""
    """Key of the taint; empty, with operator Exists, stands for every taint."""
    operator: str = ""
    """Exists or Equal; empty means Equal."""
    value: str = ""
    """Value of the taint, for operator Equal."""
    effect: str = ""
    """Effect of the taint; empty stands for every effect."""
    toleration_seconds: Int64 | None = None
    """How long a NoExecute taint is tolerated; absent means for ever."""


def every(check: Callable[[Any], bool]) -> Check:
    """A rule over a list that holds when it holds for each item."""
    return lambda items, _old: all(check(item) for item in items)


TAINT_RULES = (
    Rule(
        "API-37",
        "self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
        "the effect of a taint is one of NoSchedule, PreferNoSchedule, NoExecute",
        every(lambda taint: taint.get("effect") in TAINT_EFFECTS),
    ),
)

TOLERATION_RULES = (
    Rule(
        "API-38",
        "self.all(t, (has(t.key) && t.key != '') || (has(t.operator) && t.operator == 'Exists'))",
        "a toleration without a key needs operator Exists",
        every(lambda t: bool(t.get("key")) or t.get("operator") == "Exists"),
    ),
    Rule(
        "API-38",
        "self.all(t, !has(t.tolerationSeconds) || (has(t.effect) && t.effect == 'NoExecute'))",
        "tolerationSeconds goes only with effect NoExecute",
        every(lambda t: "tolerationSeconds" not in t or t.get("effect") == "NoExecute"),
    ),
    Rule(
        "API-38",
        "self.all(t, !has(t.operator) || t.operator in ['', 'Equal', 'Exists'])",
        "the operator of a toleration is Equal or Exists",
        every(lambda t: t.get("operator", "") in ("", "Equal", "Exists")),
    ),
    Rule(
        "API-38",
        "self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value) || t.value == '')",
        "a toleration with operator Exists has no value",
        every(lambda t: t.get("operator") != "Exists" or not t.get("value")),
    ),
    Rule(
        "API-38",
        "self.all(t, !has(t.effect) || t.effect in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
        "the effect of a toleration is one of NoSchedule, PreferNoSchedule, NoExecute, or absent",
        every(lambda t: t.get("effect", "") in ("", *TAINT_EFFECTS)),
    ),
)
