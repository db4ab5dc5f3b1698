"""Warnings about objects and fields that this version does not support; nothing is rejected."""

from kohort.api.codec import Json, decode_json
from kohort.api.unsupported import notices
from kohort.webhooks.registrations import UNSUPPORTED_REGISTRATIONS
from kohort.webhooks.reviews import ALLOWED, AdmissionHandler, AdmissionRequest, AdmissionResponse, Allowed


def unsupported_handlers() -> dict[str, AdmissionHandler]:
    """The handler of the webhook that only warns."""
    return {each.path: _warn for each in UNSUPPORTED_REGISTRATIONS}


def _warn(request: AdmissionRequest) -> AdmissionResponse:
    found = new_warnings(request)
    return Allowed(warnings=found) if found else ALLOWED


def new_warnings(request: AdmissionRequest) -> list[str]:
    """What a write requests that is not supported, without what the stored object requested before."""
    old = request.old
    before = [] if old is None else _warnings(decode_json(old))
    return [each for each in _warnings(decode_json(request.object)) if each not in before]


def _warnings(value: Json) -> list[str]:
    return [str(each) for each in notices(value)] if isinstance(value, dict) else []
