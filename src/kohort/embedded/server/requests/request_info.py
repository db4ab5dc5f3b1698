"""A request and its request info: verb, resource, namespace, name, subresource and user.

Paths are parsed once, so that authorization and handlers see the same request info.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from multidict import CIMultiDict, CIMultiDictProxy

from kohort.api.selector_text import parse_field_selector
from kohort.api.selectors import SelectorError
from kohort.embedded.auth.users import User
from kohort.embedded.server.requests.paths import decoded_path, path_segments
from kohort.kube.errors import bad_request

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
_OF_NAMESPACE_ITSELF = ("status", "finalize")
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))

NO_HEADERS: CIMultiDictProxy[str] = CIMultiDictProxy(CIMultiDict())


def parse_bool(text: str) -> bool | None:
    """A boolean as Go's ParseBool reads it, or None."""
    if text in _TRUE:
        return True
    return False if text in _FALSE else None


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request; its body is read on demand."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: CIMultiDictProxy[str] = field(default_factory=lambda: NO_HEADERS)
    body: bytes = b""
    peer: User | None = None
    """User of the connection, by client certificate or in-process transport."""
    receive: Callable[[], Awaitable[bytes]] | None = None
    """Reads a body that has not been received yet."""
    on_authenticated: Callable[[], None] | None = None
    """Called after authentication; not for anonymous requests."""

    async def received(self) -> "ServerRequest":
        """The request with its whole body."""
        return self if self.receive is None else replace(self, body=await self.receive(), receive=None)

    def check_text(self) -> None:
        """Raises 400 unless path, query and headers are UTF-8."""
        texts = (self.path, *(text for pair in self.query for text in pair), *self.headers.values())
        if not all(text.isascii() or _is_unicode(text) for text in texts):
            raise bad_request("the request's path, query or headers are not valid UTF-8")

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty when absent."""
        return next((value for key, value in self.query if key == name), "")

    def parameters(self, name: str) -> list[str]:
        """All values of a query parameter."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """A boolean parameter; an invalid value counts as true, as in Kubernetes."""
        text = self.parameter(name)
        if text:
            return parse_bool(text) is not False
        return any(key == name for key, _ in self.query)

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters and in lower case."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _is_unicode(text: str) -> bool:
    """Whether the text can be encoded as UTF-8; bytes that cannot be decoded are surrogates in it."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Verb, resource, namespace, name and subresource of a request."""

    verb: str
    path: str
    parts: tuple[str, ...] = ()
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = field(default=())
    """The path after the subresource."""
    is_in_namespace: bool = False
    """Whether the path is namespaced: `/namespaces/NAME/RESOURCE…`. It is false for a namespace itself, whose
    `namespace` is still set because authorization checks permissions there.
    """

    @property
    def api_version(self) -> str:
        """`v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


def parse_request_info(request: ServerRequest) -> RequestInfo:
    """Parses the request info of a request."""
    path = decoded_path(request.path)
    parts = path_segments(path)
    prefix = _group_prefix(parts)
    if prefix is None:
        return RequestInfo(request.method.lower(), path, parts)
    group, version, rest = prefix
    if not rest:
        return RequestInfo(request.method.lower(), path, parts, group=group, version=version)
    namespace, is_in_namespace = "", False
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        is_in_namespace = len(rest) > 2 and rest[2] not in _OF_NAMESPACE_ITSELF
        rest = rest[2:] if is_in_namespace else rest
    resource, name, subresource = (*rest[:3], "", "")[:3]
    verb = _verb(request, name)
    name = name or _selected_name(request, verb)
    return RequestInfo(
        verb,
        path,
        parts,
        is_resource=True,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        name=name,
        subresource=subresource,
        rest=rest[3:],
        is_in_namespace=is_in_namespace,
    )


def _verb(request: ServerRequest, name: str) -> str:
    """The verb: on an object if it is named, else on the collection."""
    verb = _VERBS.get(request.method, request.method.lower())
    if name:
        return verb
    if verb == "get" and request.flag("watch"):
        return "watch"
    return _COLLECTION_VERBS.get(verb, verb)


def _group_prefix(parts: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]] | None:
    if len(parts) >= 2 and parts[0] == "api":
        return "", parts[1], parts[2:]
    if len(parts) >= 3 and parts[0] == "apis":
        return parts[1], parts[2], parts[3:]
    return None


def _selected_name(request: ServerRequest, verb: str) -> str:
    """The name in the field selector of a collection request, so that permission on this name suffices."""
    if verb not in ("list", "watch"):
        return ""
    try:
        selector = parse_field_selector(request.parameter("fieldSelector"))
    except SelectorError:
        return ""
    named = (each.value for each in selector.requirements if each.field == "metadata.name" and each.operator == "=")
    name = next(named, "")
    return "" if "/" in name or "%" in name or name in (".", "..") else name
