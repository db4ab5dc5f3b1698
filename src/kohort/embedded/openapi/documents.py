"""OpenAPI v3: an index of group versions, and one document for each.

The hash in the index is computed from a document's inputs, so that documents are rendered on request only.
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
    """Schemas and paths of one group version, encoded."""

    data: bytes
    hash: str
    """Changes with the document; also its ETag."""


class OpenApiDocuments:
    """Renders documents on request, and caches each until its resources change."""

    def __init__(self) -> None:
        self._rendered: dict[str, OpenApiDocument] = {}

    def index(self, resources: Iterable[ServedResource]) -> dict[str, Json]:
        """The document at `/openapi/v3`."""
        entries = {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={_hash(served)}"}
            for path, served in _by_path(resources).items()
        }
        return {"paths": entries}

    def document(self, resources: Iterable[ServedResource], path: str) -> OpenApiDocument | None:
        """The document at `/openapi/v3/<path>`, e.g. `apis/batch/v1`; None if it is not served."""
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
    """An OpenAPI v2 document without paths, in protobuf: kubectl reads one before it creates a `List`.

    Kinds that are missing there are validated by the server.
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
    """Hash input of a built-in resource; its schema is fixed by the Kubernetes version."""
    return repr(replace(one, schema=None)).encode()


def _custom_content(one: ServedResource) -> bytes:
    raw = one.schema.raw if one.schema else {}
    return _builtin_content(one) + encode(raw)


def render(served: list[ServedResource]) -> dict[str, Json]:
    """The document of the resources of one group version."""
    operations = paths(served)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": f"v{KUBERNETES_VERSION}"},
        "paths": operations,
        "components": {"schemas": components(served, _named_in(operations)), "securitySchemes": _SECURITY},
    }


def _named_in(operations: Json) -> set[str]:
    """Names of all schemas that the operations refer to."""
    if isinstance(operations, dict):
        target = operations.get("$ref")
        own = {target.removeprefix(PREFIX)} if isinstance(target, str) else set()
        return own.union(*map(_named_in, operations.values())) if operations else own
    return set().union(*map(_named_in, operations)) if isinstance(operations, list) else set()
