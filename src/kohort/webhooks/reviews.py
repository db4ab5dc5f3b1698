"""AdmissionReview on the wire: what a webhook is asked, and how it answers.

Objects stay bytes until a rule wants them typed: a status write passes here each time, so nothing is decoded twice.
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
    """A write that an API server is about to carry out."""

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
        """The object as it is stored; None where there is none yet."""
        return None if bytes(self.old_object) in _NULLS else self.old_object


class _Review(View):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


@dataclass(frozen=True, slots=True)
class Allowed:
    """The write may go on, changed by a JSON patch where there is one."""

    patch: Sequence[Json] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """The write may not go on; the message is one line for the user."""

    message: str
    code: int = 403
    reason: str = ""
    warnings: Sequence[str] = ()


Answer = Allowed | Denied
Judge = Callable[[AdmissionRequest], Answer | Awaitable[Answer]]
"""What a webhook does; only rules that look at other objects may have to wait."""

ALLOWED = Allowed()


def read_review(body: bytes) -> AdmissionRequest:
    """The request of a review; raises DecodeError in words for the operator of the API server."""
    review = decode(body, _Review)
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        said = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise DecodeError(f"expected {API_VERSION}, Kind={KIND}, got {said}: register with admissionReviewVersions v1")
    if review.request is None or not review.request.uid:
        raise DecodeError("the review has no request with a uid")
    return review.request


def answered(uid: str, answer: Answer) -> bytes:
    """The review that carries an answer."""
    response: dict[str, Json] = {"uid": uid, "allowed": isinstance(answer, Allowed)}
    if isinstance(answer, Denied):
        response["status"] = _status(answer)
    elif answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(encode(answer.patch)).decode()
    if answer.warnings:
        response["warnings"] = list(answer.warnings)
    return encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})


def _status(denied: Denied) -> Json:
    status: dict[str, Json] = {"message": denied.message, "code": denied.code}
    return {**status, "reason": denied.reason} if denied.reason else status


def validation_response(errors: Sequence[FieldError], warnings: Sequence[str] = ()) -> Answer:
    """The answer of a validating webhook, with every problem in one line."""
    if not errors:
        return Allowed(warnings=warnings) if warnings else ALLOWED
    return Denied(in_one_line(errors), reason="Forbidden", warnings=warnings)


def in_one_line(errors: Sequence[FieldError]) -> str:
    """Several problems as Kubernetes lists them."""
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def undecodable(error: DecodeError) -> Denied:
    """The object does not have the shape of its kind (API-9)."""
    return Denied(str(error), code=400)
