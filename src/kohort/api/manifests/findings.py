"""What a check has to say: one problem of one field of one object, at its line.

A finding is rendered text and keeps no part of the manifest, so that a long list of them stays small.
"""

from dataclasses import dataclass
from enum import Enum

from kohort.api.documents.positions import one_line
from kohort.api.errors import DocumentError
from kohort.api.fields import NO_VALUE, ROOT, ErrorKind, FieldError, shown_value
from kohort.api.manifests.codes import Code
from kohort.api.manifests.origins import Mention, Origin
from kohort.api.markers import LABEL_REGEX, QUALIFIED_NAME_REGEX, QUANTITY_REGEX, SUBDOMAIN_REGEX

_IN_WORDS = {
    f"must match {QUANTITY_REGEX}": "must be a quantity such as 500m, 4 or 16Gi",
    f"must match {SUBDOMAIN_REGEX}": "must be a name of lower case letters, digits, '-' and '.', such as team-a",
    f"must match {LABEL_REGEX}": "must be a name of lower case letters, digits and '-', such as team-a",
    f"must match {QUALIFIED_NAME_REGEX}": "must be a name with an optional domain, such as example.com/rack",
}
"""What the schema says in regular expressions."""


class FindingSeverity(Enum):
    """How bad a finding is; the value is the word in the output."""

    UNREADABLE = "unreadable"
    """The file, or the rest of it, could not be looked at."""
    MALFORMED = "malformed"
    """The object has not the shape of its kind: a wrong type, a quantity beyond all bounds."""
    ERROR = "error"
    """An API server would refuse the object."""
    WARNING = "warning"
    """The object is accepted and will not do what its author means."""


@dataclass(frozen=True, slots=True)
class ManifestFinding:
    """One line of the report."""

    origin: Origin
    severity: FindingSeverity
    line: int
    field: str
    message: str
    code: str = ""
    """Number of the broken rule in docs/spec, or the code of the warning."""

    def __str__(self) -> str:
        return ": ".join(self.parts)

    @property
    def parts(self) -> tuple[str, str, str]:
        """Place, severity and text, which together are one printable line."""
        place = f"{self.origin.file}:{self.line}" if self.line else self.origin.file
        word = "warning" if self.severity is FindingSeverity.WARNING else "error"
        text = ": ".join(part for part in (self.origin.subject, self.field, self.message) if part)
        return one_line(place), word, one_line(f"{text} ({self.code})" if self.code else text)


def unreadable(error: DocumentError) -> ManifestFinding:
    """A file that can't be read, or not to its end."""
    return ManifestFinding(Origin(error.file), FindingSeverity.UNREADABLE, error.line, "", error.message)


def refused(origin: Origin, error: FieldError, line: int) -> ManifestFinding:
    """What an API server would say about a field."""
    field = "" if error.path == ROOT else error.path.text
    shown = () if error.value is NO_VALUE else (shown_value(error.value),)
    message = ": ".join((error.kind.value, *shown, _IN_WORDS.get(error.detail, error.detail)))
    severity = FindingSeverity.MALFORMED if error.kind is ErrorKind.TYPE_INVALID else FindingSeverity.ERROR
    return ManifestFinding(origin, severity, line, field, message, error.rule)


def warning(origin: Origin, mention: Mention, code: Code, message: str) -> ManifestFinding:
    """What will not do as its author means, at the place of the mention."""
    return ManifestFinding(origin, FindingSeverity.WARNING, mention.line, mention.field, message, code.value)
