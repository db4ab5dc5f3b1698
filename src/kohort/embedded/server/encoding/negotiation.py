"""Content negotiation: plain JSON, Table or PartialObjectMetadata.

Responses are never protobuf: every client that requests it accepts JSON too.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.embedded.tables import TableVersion
from kohort.kube.errors import StatusError

_META_GROUP = "meta.k8s.io"
_WHOLE: Final = ("application/json", "application/*", "*/*")
_YAML: Final = ("application/yaml",)
_MAX_CLAUSES = 32
_VERSIONS: tuple[TableVersion, ...] = ("v1", "v1beta1")


class Representation(Enum):
    """Representation of an object; the value is the `as` parameter of the media type."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True)
class NegotiatedFormat:
    """The negotiated format of a response."""

    representation: Representation = Representation.OBJECT
    version: TableVersion = "v1"
    media_type: str = "application/json"


PLAIN = NegotiatedFormat()


@dataclass(frozen=True, slots=True)
class AcceptClause:
    """One media type of an Accept header."""

    media_type: str
    parameters: dict[str, str]


def accept_clauses(header: str) -> list[AcceptClause]:
    """The media types of an Accept header, in order."""
    return [_clause(text) for text in header.split(",")[:_MAX_CLAUSES] if text.strip()]


def _clause(text: str) -> AcceptClause:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    pairs = (parameter.partition("=") for parameter in parameters)
    return AcceptClause(media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in pairs})


def negotiate(accept: str) -> NegotiatedFormat:
    """The first requested format that the server supports."""
    clauses = accept_clauses(accept)
    if not clauses:
        return PLAIN
    for clause in clauses:
        negotiated = _form(clause)
        if negotiated is not None:
            return negotiated
    if any("protobuf" in clause.media_type for clause in clauses):
        # A client that accepts protobuf only still decodes by Content-Type.
        return PLAIN
    offered = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {offered}")


def _form(clause: AcceptClause) -> NegotiatedFormat | None:
    media_type = "application/yaml" if clause.media_type in _YAML else "application/json"
    if clause.media_type not in (*_WHOLE, *_YAML):
        return None
    wanted = clause.parameters.get("as", "")
    if not wanted:
        return NegotiatedFormat(media_type=media_type)
    version = next((each for each in _VERSIONS if each == clause.parameters.get("v", "v1")), None)
    representation = next((each for each in Representation if each.value == wanted), None)
    if clause.parameters.get("g", _META_GROUP) != _META_GROUP or version is None or representation is None:
        return None
    return NegotiatedFormat(representation, version, media_type)
