"""Types that all kinds share: object metadata, conditions, label selectors, taints and tolerations.

Their rules (API-6, API-37, API-38) are declared here once, for Kohort's kinds and for views.
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
from kohort.api.rules import Rule, RulePredicate
from kohort.api.struct import Struct, View

Time = Annotated[datetime, msgspec.Meta(tz=True), Format("date-time")]
"""A time with time zone; second precision in JSON."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(View):
    """An owner of an object; the object is deleted with its owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(View):
    """The metadata that Kohort reads; managed fields are left to the API server."""

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
    """Metadata of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


K = TypeVar("K")


class ObjectList(View, Generic[K]):
    """A list with typed items."""

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
    """A sentence for users; may be empty."""
    last_transition_time: Time
    """When `status` last changed its value."""
    observed_generation: Annotated[Int64, Bounds(minimum=0)] | None = None
    """The generation of the object that the condition was set for."""

    def __post_init__(self) -> None:
        # The same few texts occur in the conditions of very many objects, so that they are interned.
        force_setattr(self, "type", intern(self.type))
        force_setattr(self, "reason", intern(self.reason))
        force_setattr(self, "message", intern(self.message))


class LabelSelectorRequirement(Struct):
    """One requirement of a label selector."""

    key: str
    """The label's key."""
    operator: str
    """In, NotIn, Exists or DoesNotExist."""
    values: Annotated[tuple[str, ...], ATOMIC] = ()
    """Values for In and NotIn; empty for the other two."""


class LabelSelector(Struct):
    """A label selector; all parts must match, and an empty selector matches everything."""

    match_labels: dict[str, str] = {}
    """Labels that must be present with exactly these values."""
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()
    """Further requirements, all of which must match."""


TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class Taint(Struct):
    """A node taint; pods without a matching toleration are not scheduled to the node."""

    key: str
    """Key of the taint, in the format of a label key."""
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""
    value: str = ""
    """Value of the taint, in the format of a label value."""
    time_added: Time | None = None
    """When a NoExecute taint was added."""


class Toleration(Struct):
    """A toleration: the pod may run on nodes with a matching taint."""

    key: str = ""
    """Key of the taint; empty, with operator Exists, matches all taints."""
    operator: str = ""
    """Exists or Equal; empty means Equal."""
    value: str = ""
    """Value of the taint, for operator Equal."""
    effect: str = ""
    """Effect of the taint; empty matches all effects."""
    toleration_seconds: Int64 | None = None
    """How long a NoExecute taint is tolerated; absent means without limit."""


def every(check: Callable[[Any], bool]) -> RulePredicate:
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
