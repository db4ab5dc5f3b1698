"""Formats of names, label keys, label values and annotation keys in Kubernetes.

Each check returns None, or one line with the error and the remedy.
"""

import re
from collections.abc import Mapping

from kohort.api.fields import FieldError, Path, invalid, too_long
from kohort.api.markers import LABEL_REGEX, SUBDOMAIN_REGEX

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
MAX_ANNOTATIONS_BYTES = 256 * 1024

_LABEL = re.compile(LABEL_REGEX)
_SUBDOMAIN = re.compile(SUBDOMAIN_REGEX)
_DNS1035_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_LABEL_SHAPE = "use lower case letters, digits and '-', and start and end with a letter or digit, e.g. team-a"
_SUBDOMAIN_SHAPE = (
    "use lower case letters, digits, '-' and '.', and start and end each part with a letter or digit, e.g. a.example"
)
_DNS1035_SHAPE = (
    "use lower case letters, digits and '-', start with a letter and end with a letter or digit, e.g. team-1"
)
_NAME_SHAPE = "use letters, digits, '-', '_' and '.', and start and end with a letter or digit, e.g. my.Name_1"
_QUALIFIED_SHAPE = "write a name with at most one DNS prefix, e.g. example.com/gpu"


def check_label(value: str) -> str | None:
    """A DNS-1123 label: the name of a namespace or a pod set."""
    return _check(value, _LABEL, MAX_LABEL, _LABEL_SHAPE)


def check_subdomain(value: str) -> str | None:
    """A DNS-1123 subdomain: the name of most objects."""
    return _check(value, _SUBDOMAIN, MAX_SUBDOMAIN, _SUBDOMAIN_SHAPE)


def check_dns1035_label(value: str) -> str | None:
    """A DNS-1035 label: the name of a service."""
    return _check(value, _DNS1035_LABEL, MAX_LABEL, _DNS1035_SHAPE)


def check_label_value(value: str) -> str | None:
    """The value of a label; it may be empty."""
    return _check(value, _NAME_PART, MAX_LABEL, _NAME_SHAPE) if value else None


def check_qualified_name(value: str) -> str | None:
    """A label key or resource name: a name of at most 63 characters with an optional DNS prefix (API-17)."""
    *prefixes, name = value.split("/")
    if len(prefixes) > 1:
        return f"has more than one '/': {_QUALIFIED_SHAPE}"
    if prefixes and (problem := check_subdomain(prefixes[0])):
        return f"prefix part {problem}"
    problem = _check(name, _NAME_PART, MAX_LABEL, _NAME_SHAPE)
    return f"name part {problem}" if problem else None


def check_annotation_key(value: str) -> str | None:
    """An annotation key: a qualified name, case-insensitive."""
    return check_qualified_name(value.lower())


def label_errors(labels: Mapping[str, str], path: Path, rule: str = "") -> list[FieldError]:
    """Errors of label keys and values (API-39, API-58)."""
    found = (
        invalid(path, text, problem, rule)
        for key, value in labels.items()
        for text, problem in ((key, check_qualified_name(key)), (value, check_label_value(value)))
        if problem
    )
    return list(found)


def annotation_errors(annotations: Mapping[str, str], path: Path, rule: str = "") -> list[FieldError]:
    """Errors of annotation keys, and of the total size of annotations (API-58)."""
    errors = [
        invalid(path, key, problem, rule) for key in annotations if (problem := check_annotation_key(key)) is not None
    ]
    if sum(_bytes(key) + _bytes(value) for key, value in annotations.items()) > MAX_ANNOTATIONS_BYTES:
        errors.append(too_long(path, MAX_ANNOTATIONS_BYTES, rule))
    return errors


def _check(value: str, shape: re.Pattern[str], limit: int, remedy: str) -> str | None:
    if not value:
        return f"must not be empty: {remedy}"
    if len(value) > limit:
        return f"has {len(value)} characters: write at most {limit}"
    return None if shape.fullmatch(value) else f"is malformed: {remedy}"


def _bytes(text: str) -> int:
    # A lone surrogate cannot be encoded in UTF-8; only the size matters here.
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
