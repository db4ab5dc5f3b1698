"""Origins of findings: the object, and the positions of texts in it.

Both outlive their document, which is dropped after its check.
"""

from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.api.documents import Document
from kohort.api.fields import ROOT, Path


@dataclass(frozen=True, slots=True)
class Origin:
    """An object of the input; missing or invalid members leave fields empty."""

    file: str
    line: int = 0
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def group(self) -> str:
        """The API group; empty for core kinds."""
        return group_of(self.api_version)

    @property
    def subject(self) -> str:
        """The object for messages: `Job training/mock-training`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return " ".join(part for part in (self.kind, name) if part)


@dataclass(frozen=True, slots=True)
class Mention:
    """A text in an object, and its position."""

    text: str
    field: str
    line: int


def origin_of(document: Document) -> Origin:
    """The object of a document."""
    value = document.value
    metadata = member(value, "metadata")
    generated = text(metadata, "generateName")
    return Origin(
        document.file,
        document.line,
        text(value, "apiVersion"),
        text(value, "kind"),
        text(metadata, "namespace"),
        text(metadata, "name") or (f"{generated}*" if generated else ""),
    )


def mention_of(document: Document, path: Path, content: str = "") -> Mention:
    """A text of a field, which may be absent; then the line is that of the nearest enclosing field."""
    return Mention(content, "" if path == ROOT else path.text, document.line_of(path))


def group_of(api_version: str) -> str:
    """The group of an `apiVersion`; empty for core kinds."""
    return api_version.rpartition("/")[0]


def member(value: Json, name: str) -> Any:
    """A member of a value that may not be an object."""
    return value.get(name) if isinstance(value, dict) else None


def text(value: Json, name: str) -> str:
    """A string member; empty if it is absent or not a string."""
    found = member(value, name)
    return found if isinstance(found, str) else ""
