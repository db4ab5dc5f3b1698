"""Match conditions (CEL) with which API servers skip webhook calls that cannot change or reject anything.

A call costs both sides a millisecond, an expression some microseconds, and most writes are of Workloads.
"""

from collections.abc import Callable, Iterable
from json import dumps

from kohort.api.codec import Json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.validation.workload import JUDGED_ANNOTATIONS, PODS_RESOURCE
from kohort.api.kueue.webhooks import DROPPED_MEMBER, JUDGED_STATUS
from kohort.webhooks.registrations import CREATE, AnyRegistration, UnsupportedRegistration, WebhookType

_OF_STATUS = 'has(request.subResource) && request.subResource == "status"'
_CREATION = f"request.operation == {dumps(CREATE)}"
_MANY = 16
"""Containers, or amounts of one, that an expression examines: API servers limit the cost of expressions."""


def match_conditions(registration: AnyRegistration, user: str) -> list[Json]:
    """The match conditions of a webhook; `user` is the manager's user name, or empty if unknown.

    One condition only: an API server evaluates all of them, but short-circuits within one.
    """
    if isinstance(registration, UnsupportedRegistration) or registration.resource.kind != Workload.info.resource.kind:
        return []
    if registration.act is WebhookType.MUTATE:
        return [{"name": "has-what-is-dropped", "expression": _has_what_is_dropped()}]
    own = [_not_its_own(user)] if user else []
    parts = [*own, _changes_what_is_judged(), _creates_what_is_judged()]
    return [{"name": "has-what-is-judged", "expression": " && ".join(f"({part})" for part in parts)}]


def _has_what_is_dropped() -> str:
    """Skip new Workloads without partial admission: there is nothing to change (API-55).

    Malformed Workloads match, because a failing expression would reject them without a reason.
    """
    parts = (
        "has(object.spec)",
        "type(object.spec) == map",
        "has(object.spec.podSets)",
        "type(object.spec.podSets) == list",
        f"object.spec.podSets.all(each, type(each) == map && !has(each.{DROPPED_MEMBER}))",
    )
    return f"!({' && '.join(parts)})"


def _not_its_own(user: str) -> str:
    """Skip the manager's own status writes and new Workloads, which follow the same rules and are most of all writes.

    The field manager distinguishes them from writes of a person with the same user name.
    """
    parts = (
        f"({_OF_STATUS} || {_CREATION})",
        f"request.userInfo.username == {dumps(user)}",
        "request.options != null",
        "has(request.options.fieldManager)",
        'request.options.fieldManager.startsWith("kueue-")',
    )
    return f"!({' && '.join(parts)})"


def _changes_what_is_judged() -> str:
    """Skip status writes that leave the validated fields unchanged, such as that of a finished job."""
    parts = (
        f"!({_OF_STATUS})",
        "!has(object.status)",
        "!has(oldObject.status)",
        f"{_is_reserved('object')} != {_is_reserved('oldObject')}",
        f"{_list(JUDGED_STATUS)}.exists(part, (part in object.status) != (part in oldObject.status)"
        " || (part in object.status && object.status[part] != oldObject.status[part]))",
    )
    return " || ".join(parts)


def _is_reserved(name: str) -> str:
    reserved = 'each.type == "QuotaReserved" && each.status == "True"'
    return f"(has({name}.status.conditions) && {name}.status.conditions.exists(each, {reserved}))"


def _creates_what_is_judged() -> str:
    """Skip new Workloads without any validated field, for all feature gates (API-56 to API-65).

    The API server has already validated it against the schema.
    """
    parts = (
        _CREATION,
        "!has(object.status)",
        f"(!has(object.metadata.annotations) || {_lacks('object.metadata.annotations', JUDGED_ANNOTATIONS)})",
        "has(object.spec)",
        "has(object.spec.podSets)",
        f"object.spec.podSets.all(set, {_is_plain('set')})",
    )
    return f"!({' && '.join(parts)})"


def _is_plain(pod_set: str) -> str:
    """A pod set without labels, annotations, topology and minimum count, with valid amounts."""
    metadata, spec = f"{pod_set}.template.metadata", f"{pod_set}.template.spec"
    parts = (
        _lacks(pod_set, (DROPPED_MEMBER, "topologyRequest")),
        f"has({pod_set}.template)",
        f"(!has({metadata}) || {_lacks(metadata, ('labels', 'annotations'))})",
        f"has({spec})",
        f"!has({spec}.resources)",
        _each_part(spec, ("containers", "initContainers"), "kind", _ask_for_sound_amounts),
    )
    return " && ".join(parts)


def _ask_for_sound_amounts(containers: str) -> str:
    """Containers without negative amounts and without the resource that counts pods (API-57)."""
    sound = _each_part("container.resources", ("requests", "limits"), "part", _are_sound)
    return _few(containers, "container", f"!has(container.resources) || {sound}")


def _are_sound(amounts: str) -> str:
    amount = f"{amounts}[name]"
    from_zero = f'(type({amount}) == string ? !{amount}.startsWith("-") : {amount} >= 0)'
    return _few(amounts, "name", f"name != {dumps(PODS_RESOURCE)} && {from_zero}")


def _each_part(value: str, names: tuple[str, ...], variable: str, holds: Callable[[str], str]) -> str:
    """A condition that holds for each of these members that a map has."""
    return f"{_list(names)}.all({variable}, !({variable} in {value}) || {holds(f'{value}[{variable}]')})"


def _few(values: str, variable: str, holds: str) -> str:
    return f"({values}.size() <= {_MANY} && {values}.all({variable}, {holds}))"


def _lacks(value: str, names: tuple[str, ...]) -> str:
    return f"!{_list(names)}.exists(name, name in {value})"


def _list(names: Iterable[str]) -> str:
    return dumps(list(names))
