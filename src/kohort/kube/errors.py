"""What can go wrong between a client and an API server; servers raise and write `StatusError`, clients read it.

KubeError
├── StatusError            the server answered, and did not do it: a Kubernetes `Status`
├── TransportError         no answer, or not all of it
│   ├── UnreachableError   the request was never sent, so that any may be sent again
│   └── LostAnswerError    it may have been carried out
└── ConfigError            no way to the server: kubeconfig, credentials, certificates
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import FieldError


@dataclass(frozen=True, slots=True)
class ErrorSubject:
    """Which object an error is about; `resource` is the plural, or the kind where a server says so."""

    resource: str
    group: str = ""
    name: str = ""
    kind: str = ""
    uid: str = ""

    @property
    def qualified(self) -> str:
        """`jobs.batch`, or `pods` in the core group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


class KubeError(Exception):
    """Anything that keeps a client from what it asked for; its text is one line for people."""


class TransportError(KubeError):
    """The server did not answer, or its answer broke off."""


class UnreachableError(TransportError):
    """No connection: the request was never sent."""


class LostResponseError(TransportError):
    """The connection broke or the time ran out; the request may have been carried out."""


class ConfigError(KubeError):
    """Configuration that leads to no server; names the file or variable and the remedy."""


@dataclass(eq=False)
class StatusError(KubeError):
    """A refusal or failure in Kubernetes' own shape."""

    code: int
    reason: str
    message: str
    details: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    @property
    def is_not_found(self) -> bool:
        """Whether the object, or the resource itself, is not there."""
        return self.code == 404

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else changed the object first."""
        return self.reason == "Conflict"

    @property
    def is_already_exists(self) -> bool:
        """Whether a create found the name taken."""
        return self.reason == "AlreadyExists"

    @property
    def is_expired(self) -> bool:
        """Whether the resource version asked for is too old to be served."""
        return self.code == 410

    @property
    def is_invalid(self) -> bool:
        """Whether validation refused the object."""
        return self.reason == "Invalid"

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asks to wait, if it does."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int | float) else None

    def to_status(self) -> dict[str, Json]:
        """The `Status` object that goes over the wire."""
        status: dict[str, Json] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status

    @classmethod
    def from_status(cls, status: Mapping[str, Any], code: int = 500) -> "StatusError":
        """The error that a `Status` tells of; tolerant of what servers leave out."""
        details = status.get("details")
        return cls(
            code=int(status.get("code") or code),
            reason=str(status.get("reason") or ""),
            message=str(status.get("message") or "unknown error"),
            details=details if isinstance(details, dict) else {},
        )


def _details(about: ErrorSubject, **more: Json) -> dict[str, Json]:
    """Details as the real server gives them: in `kind` stands the resource, or the kind for invalid objects."""
    known = {"name": about.name, "group": about.group, "kind": about.kind or about.resource, "uid": about.uid}
    return {name: value for name, value in {**known, **more}.items() if value}


def not_found(about: ErrorSubject) -> StatusError:
    """The object does not exist."""
    return StatusError(404, "NotFound", f'{about.qualified} "{about.name}" not found', _details(about))


def already_exists(about: ErrorSubject) -> StatusError:
    """The name is taken."""
    return StatusError(409, "AlreadyExists", f'{about.qualified} "{about.name}" already exists', _details(about))


def conflict(about: ErrorSubject, why: str) -> StatusError:
    """The write was based on a state that is no longer there."""
    message = f'Operation cannot be fulfilled on {about.qualified} "{about.name}": {why}'
    return StatusError(409, "Conflict", message, _details(about))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(about: ErrorSubject, why: str) -> StatusError:
    """Not allowed: by authorization or by an admission rule."""
    subject = f'{about.qualified} "{about.name}"' if about.name else about.qualified
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", _details(about))


def invalid(about: ErrorSubject, errors: Iterable[FieldError]) -> StatusError:
    """Validation refused the object; `about.kind` names it."""
    found = list(errors)
    causes: list[Json] = [
        {"reason": error.kind.cause, "message": str(error).partition(": ")[2], "field": str(error.path)}
        for error in found
    ]
    texts = [str(error) for error in found]
    listed = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{about.kind}.{about.group}" if about.group else about.kind
    message = f'{qualified} "{about.name}" is invalid: {listed}'
    return StatusError(422, "Invalid", message, _details(about, causes=causes))


def bad_request(why: str) -> StatusError:
    """The request makes no sense as it stands."""
    return StatusError(400, "BadRequest", why)


def unauthorized() -> StatusError:
    """Nobody the server knows."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def expired(why: str) -> StatusError:
    """The resource version asked for is too old; list anew."""
    return StatusError(410, "Expired", why)


def method_not_allowed(about: ErrorSubject, verb: str) -> StatusError:
    """The resource does not know this verb."""
    why = f"{verb} is not supported on resources of kind {about.qualified!r}".replace("'", '"')
    return StatusError(405, "MethodNotAllowed", why, _details(about))


def unsupported_media_type(why: str) -> StatusError:
    """The body has a form that this resource does not take."""
    return StatusError(415, "UnsupportedMediaType", why)


def too_large(limit: int) -> StatusError:
    """The body is longer than the server reads."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_requests(why: str, seconds: int) -> StatusError:
    """Come back later."""
    return StatusError(429, "TooManyRequests", why, {"retryAfterSeconds": seconds})


def internal(why: str) -> StatusError:
    """Something broke that the caller can do nothing about."""
    return StatusError(500, "InternalError", f"Internal error occurred: {why}")
