"""Findings: one problem of one field of one object, with its line.

A finding contains no part of the manifest, so that a long list of them stays small.
"""

from dataclasses import dataclass
from enum import Enum

from kohort.api.documents.positions import one_line
from kohort.api.errors import DocumentError
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, shown_value
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.origins import Mention, Origin
from kohort.api.markers import LABEL_REGEX, QUALIFIED_NAME_REGEX, QUANTITY_REGEX, SUBDOMAIN_REGEX

_IN_WORDS = {
    f"must match {QUANTITY_REGEX}": "must be a quantity such as 500m, 4 or 16Gi",
    f"must match {SUBDOMAIN_REGEX}": "must be a name of lower case letters, digits, '-' and '.', such as team-a",
    f"must match {LABEL_REGEX}": "must be a name of lower case letters, digits and '-', such as team-a",
    f"must match {QUALIFIED_NAME_REGEX}": "must be a name with an optional domain, such as example.com/rack",
}
"""Readable texts for patterns of the schema."""


class FindingSeverity(Enum):
    """The severity of a finding; the value is the word in the output."""

    UNREADABLE = "unreadable"
    """The file, or the rest of it, could not be read."""
    MALFORMED = "malformed"
    """The object does not match its schema: a wrong type, a quantity out of range."""
    ERROR = "error"
    """An API server would reject the object."""
    WARNING = "warning"
    """The object is accepted, but probably does not behave as intended."""


@dataclass(frozen=True, slots=True)
class ManifestFinding:
    """One line of the report."""

    origin: Origin
    severity: FindingSeverity
    line: int
    field: str
    message: str
    code: str = ""
    """Number of the violated rule in docs/spec, or the code of the warning."""

    def __str__(self) -> str:
        return ": ".join(self.parts)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Position, severity and text, which together are one printable line."""
        place = f"{self.origin.file}:{self.line}" if self.line else self.origin.file
        word = "warning" if self.severity is FindingSeverity.WARNING else "error"
        text = ": ".join(part for part in (self.origin.subject, self.field, self.message) if part)
        return one_line(place), word, one_line(f"{text} ({self.code})" if self.code else text)


def unreadable(error: DocumentError) -> ManifestFinding:
    """A file that cannot be read, or not completely."""
    return ManifestFinding(Origin(error.file), FindingSeverity.UNREADABLE, error.line, "", error.message)


def refused(origin: Origin, error: FieldError, line: int) -> ManifestFinding:
    """A field error that an API server would return."""
    field = "" if error.path == ROOT else error.path.text
    shown = () if error.value is NO_VALUE else (shown_value(error.value),)
    message = ": ".join((error.kind.value, *shown, _IN_WORDS.get(error.detail, error.detail)))
    severity = FindingSeverity.MALFORMED if error.kind is ErrorKind.TYPE_INVALID else FindingSeverity.ERROR
    return ManifestFinding(origin, severity, line, field, message, error.rule)


def warning(origin: Origin, mention: Mention, code: WarningCode, message: str) -> ManifestFinding:
    """A warning at the position of the mention."""
    return ManifestFinding(origin, FindingSeverity.WARNING, mention.line, mention.field, message, code.value)
