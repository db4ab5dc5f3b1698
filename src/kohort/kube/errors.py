"""Errors between a client and an API server; servers raise and encode `StatusError`, clients decode it.

KubeError
├── StatusError            the server rejected the request: a Kubernetes `Status`
├── TransportError         no response, or an incomplete one
│   ├── UnreachableError   the request was never sent, so that any may be retried
│   └── LostResponseError  the request may have been processed
└── ConfigError            invalid client configuration: kubeconfig, credentials, certificates
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.api.codec import Json
from kohort.api.fields import FieldError


@dataclass(frozen=True, slots=True)
class ErrorSubject:
    """The object of an error; `resource` is the plural name, or the kind if the server uses that."""

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
    """A failed request; its text is one line."""


class TransportError(KubeError):
    """No response, or an incomplete one."""


class UnreachableError(TransportError):
    """Connecting failed: the request was never sent."""


class LostResponseError(TransportError):
    """The connection closed or the request timed out; the request may have been processed."""


class ConfigError(KubeError):
    """Invalid client configuration; names the file or variable and the remedy."""


@dataclass(eq=False)
class StatusError(KubeError):
    """An error that the server returned as a Kubernetes `Status`."""

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
        """Whether the object, or the resource itself, does not exist."""
        return self.code == 404

    @property
    def is_conflict(self) -> bool:
        """Whether another client changed the object first."""
        return self.reason == "Conflict"

    @property
    def is_already_exists(self) -> bool:
        """Whether an object with this name exists already."""
        return self.reason == "AlreadyExists"

    @property
    def is_expired(self) -> bool:
        """Whether the requested resource version has been compacted."""
        return self.code == 410

    @property
    def is_invalid(self) -> bool:
        """Whether validation rejected the object."""
        return self.reason == "Invalid"

    @property
    def retry_after(self) -> float | None:
        """The Retry-After of the server in seconds."""
        seconds = self.details.get("retryAfterSeconds")
        return float(seconds) if isinstance(seconds, int | float) else None

    def to_status(self) -> dict[str, Json]:
        """The error as a `Status` object."""
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
        """The error that a `Status` describes; missing fields are tolerated."""
        details = status.get("details")
        return cls(
            code=int(status.get("code") or code),
            reason=str(status.get("reason") or ""),
            message=str(status.get("message") or "unknown error"),
            details=details if isinstance(details, dict) else {},
        )


def _details(about: ErrorSubject, **more: Json) -> dict[str, Json]:
    """Details as kube-apiserver sets them: `kind` is the resource, or the kind for invalid objects."""
    known = {"name": about.name, "group": about.group, "kind": about.kind or about.resource, "uid": about.uid}
    return {name: value for name, value in {**known, **more}.items() if value}


def not_found(about: ErrorSubject) -> StatusError:
    """The object does not exist."""
    return StatusError(404, "NotFound", f'{about.qualified} "{about.name}" not found', _details(about))


def already_exists(about: ErrorSubject) -> StatusError:
    """An object with this name exists."""
    return StatusError(409, "AlreadyExists", f'{about.qualified} "{about.name}" already exists', _details(about))


def conflict(about: ErrorSubject, why: str) -> StatusError:
    """The write was based on an outdated version."""
    message = f'Operation cannot be fulfilled on {about.qualified} "{about.name}": {why}'
    return StatusError(409, "Conflict", message, _details(about))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def forbidden(about: ErrorSubject, why: str) -> StatusError:
    """Authorization or admission rejected the request."""
    subject = f'{about.qualified} "{about.name}"' if about.name else about.qualified
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {why}", _details(about))


def invalid(about: ErrorSubject, errors: Iterable[FieldError]) -> StatusError:
    """Validation rejected the object; `about.kind` is its kind."""
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
    """The request is malformed."""
    return StatusError(400, "BadRequest", why)


def unauthorized() -> StatusError:
    """Authentication failed."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def expired(why: str) -> StatusError:
    """The requested resource version is too old; the client has to list again."""
    return StatusError(410, "Expired", why)


def method_not_allowed(about: ErrorSubject, verb: str) -> StatusError:
    """The resource does not support this verb."""
    why = f"{verb} is not supported on resources of kind {about.qualified!r}".replace("'", '"')
    return StatusError(405, "MethodNotAllowed", why, _details(about))


def unsupported_media_type(why: str) -> StatusError:
    """The resource does not accept this content type."""
    return StatusError(415, "UnsupportedMediaType", why)


def too_large(limit: int) -> StatusError:
    """The body exceeds the size limit."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_requests(why: str, seconds: int) -> StatusError:
    """The client has to retry later."""
    return StatusError(429, "TooManyRequests", why, {"retryAfterSeconds": seconds})


def internal(why: str) -> StatusError:
    """An error that the client cannot resolve."""
    return StatusError(500, "InternalError", f"Internal error occurred: {why}")
