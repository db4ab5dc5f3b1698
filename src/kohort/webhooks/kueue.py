"""The webhooks of Kueue's own kinds: the rules of `api`, applied to the objects of a review (API-95)."""

from collections.abc import Callable
from typing import Any

from kohort.api.codec import Json, decode, decode_json
from kohort.api.errors import DecodeError
from kohort.api.fields import FieldError
from kohort.api.gates import FeatureGates, Gate
from kohort.api.kinds import CustomObject, kind_of
from kohort.api.kueue.admission import is_undecodable
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.validation.topology_requests import topology_warnings
from kohort.api.kueue.webhooks import VALIDATING, mutate_on_create
from kohort.api.schema import schema_of
from kohort.api.structural import validate
from kohort.webhooks.patching import json_patch
from kohort.webhooks.registrations import KUEUE, WebhookRegistration, WebhookType
from kohort.webhooks.reviews import (
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    Allowed,
    Denied,
    in_one_line,
    validation_response,
)
from kohort.webhooks.unsupported import new_warnings

_WITHOUT_AMOUNTS = frozenset({"Workload"})
"""Kinds whose struct has no quantities: an object that decodes has valid types throughout."""


def kueue_handlers(gates: FeatureGates) -> dict[str, AdmissionHandler]:
    """The handlers of Kueue's own webhooks by path."""
    return {each.path: _FACTORIES[each.act](each, gates) for each in KUEUE}


def _mutating(registration: WebhookRegistration, gates: FeatureGates) -> AdmissionHandler:
    kind = _kind(registration)

    def mutate(request: AdmissionRequest) -> AdmissionResponse:
        value = decode_json(request.object)
        if not isinstance(value, dict) or value.get("kind") != kind.info.resource.kind:
            raise DecodeError(f"expected a {kind.info.resource.kind}")
        mutated = mutate_on_create(value, gates)
        problems = [] if _is_readable(request, kind) else _unreadable(mutated, kind)
        return Denied(in_one_line(problems), code=400) if problems else Allowed(json_patch(value, mutated))

    return mutate


def _is_readable(request: AdmissionRequest, kind: type[CustomObject]) -> bool:
    """Whether decoding alone proves that all types are valid; Workloads are too many for a full validation."""
    if kind.info.resource.kind not in _WITHOUT_AMOUNTS:
        return False
    try:
        decode(request.object, kind)
    except DecodeError:
        return False
    return True


def _unreadable(value: Json, kind: type[CustomObject]) -> list[FieldError]:
    """Type errors only; other errors are left to schema validation (API-9)."""
    return [error for error in validate(value, schema_of(kind)) if is_undecodable(error)]


def _kind(registration: WebhookRegistration) -> type[CustomObject]:
    found = kind_of(V1BETA2, registration.resource.kind)
    if found is None:
        raise DecodeError(f"{registration.resource.kind} is not a kind of {V1BETA2}")
    return found


def _validating(registration: WebhookRegistration, gates: FeatureGates) -> AdmissionHandler:
    struct, check = VALIDATING[registration.resource.kind]
    # Workload writes are too many to decode them again, and their requests are immutable.
    is_fixed = registration.resource.kind == "Workload"

    def handler(request: AdmissionRequest) -> AdmissionResponse:
        old = request.old
        former: Any = None if old is None else decode(old, struct)
        found: Any = decode(request.object, struct)
        warnings = new_warnings(request) if old is None or not is_fixed else []
        if old is None and isinstance(found, Workload) and gates.enabled(Gate.TopologyAwareScheduling):
            warnings += topology_warnings(found)
        return validation_response(check(found, former, gates), warnings)

    return handler


_FACTORIES: dict[WebhookType, Callable[[WebhookRegistration, FeatureGates], AdmissionHandler]] = {
    WebhookType.MUTATE: _mutating,
    WebhookType.VALIDATE: _validating,
}
