"""Splits the bytes of a manifest file into documents: encoding, notation, Lists.

Text that looks like JSON is parsed as JSON first, because YAML parsers reject some of it; if it is not valid JSON, it
is parsed as YAML.
"""

import codecs
from collections.abc import Iterator
from typing import Final

from kohort.api import codec
from kohort.api.codec import Json
from kohort.api.documents.document import Document
from kohort.api.documents.json_reader import JsonReader, NotJsonError, starts_as_json
from kohort.api.documents.positions import LineIndex, Position, inner_place, mark_of, problem
from kohort.api.documents.yaml_reader import YamlReader
from kohort.api.errors import DocumentError
from kohort.api.fields import shown_value

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_OBJECT_BYTES: Final = 3 * 1024 * 1024
"""Maximum size of an object as JSON; API servers reject larger requests."""
MAX_OBJECTS: Final = 1_000_000
"""Maximum number of objects in one file, to bound memory."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"", "utf-8"),
)


def read_documents(data: bytes, file: str) -> Iterator[Document]:
    """The objects of a manifest, in order; `file` is its name in errors. Raises DocumentError."""
    if len(data) > MAX_FILE_BYTES:
        raise DocumentError(f"larger than {MAX_FILE_BYTES // 1024**2} MiB; split it into several files", file=file)
    values = _values(_decoded(data, file), file)
    documents = (document for value, place in values for document in _objects(value, place, file))
    for count, document in enumerate(documents, start=1):
        if count > MAX_OBJECTS:
            raise problem(f"more than {MAX_OBJECTS} objects; split the file", file, mark_of(document.place))
        yield document


def _decoded(data: bytes, file: str) -> str:
    bom, encoding = next(known for known in _BOMS if data.startswith(known[0]))
    try:
        return str(memoryview(data)[len(bom) :], encoding)
    except UnicodeDecodeError as error:
        offset = len(bom) + error.start
        before = str(memoryview(data)[len(bom) : offset], encoding)
        message = f"byte 0x{data[offset]:02x} at offset {offset} is not {encoding.upper()}; save the file as UTF-8"
        raise problem(message, file, LineIndex(before).mark(len(before))) from None


def _values(text: str, file: str) -> Iterator[tuple[Json, Position]]:
    if not starts_as_json(text):
        yield from YamlReader(text, file)
        return
    reader = JsonReader(text, file)
    try:
        yield from reader
    except NotJsonError as error:
        if error.restart is None:
            raise
        rest = YamlReader(text[error.restart :], file, reader.line_at(error.restart))
        yield from _unless_both_fail(rest, error)


def _unless_both_fail(reader: YamlReader, as_json: NotJsonError) -> Iterator[tuple[Json, Position]]:
    try:
        yield from reader
    except DocumentError as as_yaml:
        # The intended notation is the one that parses further.
        raise max(as_json, as_yaml, key=lambda error: (error.line, error.column)) from None


def _objects(value: Json, place: Position, file: str) -> Iterator[Document]:
    if value is None:
        return
    if list_kind := _list_kind(value):
        yield from _items(value, list_kind, place, file)
        return
    size = len(codec.encode(value))
    if size > MAX_OBJECT_BYTES:
        limit = MAX_OBJECT_BYTES // 1024**2
        raise problem(f"object of {size} bytes exceeds the API server's limit of {limit} MiB", file, mark_of(place))
    yield Document(value, file, place)


def _list_kind(value: Json) -> str:
    """The kind, if the object is a List or a typed list such as a JobList; else empty."""
    kind = value.get("kind") if isinstance(value, dict) and "items" in value else None
    return kind if isinstance(kind, str) and kind.endswith("List") else ""


def _items(value: dict[str, Json], kind: str, place: Position, file: str) -> Iterator[Document]:
    items, items_place = value["items"], inner_place(place, "items")
    if not isinstance(items, list | None):
        raise problem(f"items of {shown_value(kind)} must be a list", file, mark_of(items_place))
    for index, item in enumerate(items or ()):
        item_place = inner_place(items_place, index)
        if not isinstance(item, dict):
            raise problem(f"items[{index}] of {shown_value(kind)} must be an object", file, mark_of(item_place))
        yield from _objects(_with_kind(item, value, kind), item_place, file)


def _with_kind(item: dict[str, Json], parent: dict[str, Json], list_kind: str) -> dict[str, Json]:
    """As in Kubernetes, an item of a typed list may omit its kind."""
    if item.get("kind") or item.get("apiVersion") or list_kind == "List":
        return item
    return {**item, "apiVersion": parent.get("apiVersion"), "kind": list_kind.removesuffix("List")}
