"""One request as the server sees it, whatever carried it: what was asked (verb, resource, name), and by whom.

Paths are read as Kubernetes reads them: the same path names the same thing for authorization and for serving.
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
    """A truth value as Go's ParseBool reads it; None when it is none."""
    if text in _TRUE:
        return True
    return False if text in _FALSE else None


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request; its body is read when it is needed."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: CIMultiDictProxy[str] = field(default_factory=lambda: NO_HEADERS)
    body: bytes = b""
    peer: User | None = None
    """Whom the connection itself proves: by client certificate, or because it never left the process."""
    receive: Callable[[], Awaitable[bytes]] | None = None
    """Reads a body that is still on its way."""
    on_authenticated: Callable[[], None] | None = None
    """Called once the sender has proved who it is; an answer to an anonymous request proves nothing."""

    async def received(self) -> "ServerRequest":
        """The request with its whole body."""
        return self if self.receive is None else replace(self, body=await self.receive(), receive=None)

    def check_text(self) -> None:
        """Raise 400 unless path, query and headers are UTF-8; nothing else can be compared, stored or answered."""
        texts = (self.path, *(text for pair in self.query for text in pair), *self.headers.values())
        if not all(text.isascii() or _is_unicode(text) for text in texts):
            raise bad_request("the request's path, query or headers are not valid UTF-8")

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty when there is none."""
        return next((value for key, value in self.query if key == name), "")

    def parameters(self, name: str) -> list[str]:
        """All values of a query parameter."""
        return [value for key, value in self.query if key == name]

    def flag(self, name: str) -> bool:
        """A truth value; what is no truth value counts as one, as for Kubernetes."""
        text = self.parameter(name)
        if text:
            return parse_bool(text) is not False
        return any(key == name for key, _ in self.query)

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters and in lower case."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: bytes that are none are surrogates in it."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a request is about."""

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
    """What follows the subresource in the path."""
    is_in_namespace: bool = False
    """Whether the path leads through a namespace: `/namespaces/NAME/RESOURCE…`. The path of a namespace itself does
    not; its `namespace` is set all the same, since authorization looks at the rights there."""

    @property
    def api_version(self) -> str:
        """`v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


def parse_request_info(request: ServerRequest) -> RequestInfo:
    """The verb and the object of a request."""
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
    """What is to be done: to one object where it is named, else to the collection."""
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
    """The one object that a collection request asks for by field selector; who may see it may ask so."""
    if verb not in ("list", "watch"):
        return ""
    try:
        selector = parse_field_selector(request.parameter("fieldSelector"))
    except SelectorError:
        return ""
    named = (each.value for each in selector.requirements if each.field == "metadata.name" and each.operator == "=")
    name = next(named, "")
    return "" if "/" in name or "%" in name or name in (".", "..") else name
