"""OpenAPI v3 as clients ask for it: an index of group versions, and one document for each.

The hash in the index is taken from what a document is made of, so that nothing is rendered before somebody wants it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha512

from kohort.api.codec import Json, encode
from kohort.embedded.kinds.definitions import KUBERNETES_VERSION
from kohort.embedded.openapi.documents_paths import paths
from kohort.embedded.openapi.documents_schemas import PREFIX, components
from kohort.embedded.resources import ServedResource

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_SECURITY = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}


@dataclass(frozen=True, slots=True)
class OpenApiDocument:
    """The schemas and paths of one group version, as bytes."""

    data: bytes
    hash: str
    """Changes whenever the document does; serves as its ETag too."""


class OpenApiDocuments:
    """Renders documents when they are asked for, and keeps each for as long as its resources stay the same."""

    def __init__(self) -> None:
        self._rendered: dict[str, OpenApiDocument] = {}

    def index(self, resources: Iterable[ServedResource]) -> dict[str, Json]:
        """The answer at `/openapi/v3`."""
        entries = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(served)}"}
            for path, served in _by_path(resources).items()
        }
        return {"paths": entries}

    def document(self, resources: Iterable[ServedResource], path: str) -> OpenApiDocument | None:
        """The answer at `/openapi/v3/<path>`, e.g. `apis/batch/v1`; None when nothing there is served."""
        everything = _by_path(resources)
        self._rendered = {known: one for known, one in self._rendered.items() if known in everything}
        served = everything.get(path)
        if not served:
            return None
        known = self._rendered.get(path)
        digest = _hash(served)
        if known is None or known.hash != digest:
            known = self._rendered[path] = OpenApiDocument(encode(render(served)), digest)
        return known


def empty_v2(version: str) -> bytes:
    """A document of OpenAPI v2 without any path, in protobuf: kubectl reads one before it creates a `List`.

    What it does not find there it leaves to the server to check.
    """
    info = _text(1, "Kubernetes") + _text(2, version)
    return _text(1, "2.0") + bytes([2 << 3 | 2, len(info)]) + info


def _text(field: int, value: str) -> bytes:
    return bytes([field << 3 | 2, len(value)]) + value.encode()


def _by_path(resources: Iterable[ServedResource]) -> dict[str, list[ServedResource]]:
    found: dict[str, list[ServedResource]] = {}
    for one in resources:
        path = f"apis/{one.api_version}" if one.group else f"api/{one.version}"
        found.setdefault(path, []).append(one)
    return found


def _hash(served: list[ServedResource]) -> str:
    digest = sha512(KUBERNETES_VERSION.encode())
    for one in served:
        digest.update(_custom_content(one) if one.is_custom else _builtin_content(one))
    return digest.hexdigest().upper()


def _builtin_content(one: ServedResource) -> bytes:
    """A built-in schema is settled by the version; only the facts beside it count."""
    return repr(replace(one, schema=None)).encode()


def _custom_content(one: ServedResource) -> bytes:
    raw = one.schema.raw if one.schema else {}
    return _builtin_content(one) + encode(raw)


def render(served: list[ServedResource]) -> dict[str, Json]:
    """The document of resources that share group and version."""
    operations = paths(served)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"v{KUBERNETES_VERSION}"},
        "paths": operations,
        "components": {"schemas": components(served, _named_in(operations)), "securitySchemes": _SECURITY},
    }


def _named_in(operations: Json) -> set[str]:
    """Names of all schemas to which operations refer."""
    if isinstance(operations, dict):
        target = operations.get("$ref")
        own = {target.removeprefix(PREFIX)} if isinstance(target, str) else set()
        return own.union(*map(_named_in, operations.values())) if operations else own
    return set().union(*map(_named_in, operations)) if isinstance(operations, list) else set()
