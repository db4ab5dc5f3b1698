"""AdmissionReview: decoding requests and encoding responses.

Objects stay bytes until a rule needs them typed, so that nothing is decoded twice.
"""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec

from kohort.api.codec import Json, decode, encode
from kohort.api.core.reviews import UserInfo
from kohort.api.errors import DecodeError
from kohort.api.fields import FieldError
from kohort.api.struct import View

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
_NULLS = (b"", b"null")


class AdmissionRequest(View):
    """A write that an API server is about to perform."""

    uid: str = ""
    operation: str = ""
    namespace: str = ""
    name: str = ""
    sub_resource: str = ""
    dry_run: bool = False
    user_info: UserInfo = UserInfo()
    object: msgspec.Raw = msgspec.Raw()
    old_object: msgspec.Raw = msgspec.Raw()

    @property
    def old(self) -> msgspec.Raw | None:
        """The stored object; None on creation."""
        return None if bytes(self.old_object) in _NULLS else self.old_object


class _Review(View):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """The write is allowed, optionally changed by a JSON patch."""

    patch: Sequence[Json] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """The write is denied; the message is one line for the user."""

    message: str
    code: int = 403
    reason: str = ""
    warnings: Sequence[str] = ()


AdmissionResponse = Allowed | Denied
AdmissionHandler = Callable[[AdmissionRequest], AdmissionResponse | Awaitable[AdmissionResponse]]
"""Handles an admission request; only rules that read other objects are asynchronous."""

ALLOWED = Allowed()


def read_review(body: bytes) -> AdmissionRequest:
    """The request of a review; raises DecodeError with a message for the operator of the API server."""
    review = decode(body, _Review)
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        got = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise DecodeError(f"expected {API_VERSION}, Kind={KIND}, got {got}: register with admissionReviewVersions v1")
    if review.request is None or not review.request.uid:
        raise DecodeError("the review has no request with a uid")
    return review.request


def encode_response(uid: str, response: AdmissionResponse) -> bytes:
    """The encoded review with a response."""
    encoded: dict[str, Json] = {"uid": uid, "allowed": isinstance(response, Allowed)}
    if isinstance(response, Denied):
        encoded["status"] = _status(response)
    elif response.patch:
        encoded["patchType"] = "JSONPatch"
        encoded["patch"] = b64encode(encode(response.patch)).decode()
    if response.warnings:
        encoded["warnings"] = list(response.warnings)
    return encode({"apiVersion": API_VERSION, "kind": KIND, "response": encoded})


def _status(denied: Denied) -> Json:
    status: dict[str, Json] = {"message": denied.message, "code": denied.code}
    return {**status, "reason": denied.reason} if denied.reason else status


def validation_response(errors: Sequence[FieldError], warnings: Sequence[str] = ()) -> AdmissionResponse:
    """The response of a validating webhook, with all errors in one line."""
    if not errors:
        return Allowed(warnings=warnings) if warnings else ALLOWED
    return Denied(in_one_line(errors), reason="Forbidden", warnings=warnings)


def in_one_line(errors: Sequence[FieldError]) -> str:
    """Several errors in Kubernetes' format."""
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def undecodable(error: DecodeError) -> Denied:
    """The response to an object that cannot be decoded (API-9)."""
    return Denied(str(error), code=400)
