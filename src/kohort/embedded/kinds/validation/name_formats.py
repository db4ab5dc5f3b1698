"""Formats of names, labels, ports …, with Kubernetes' messages.

`kohort.api.names` has the same formats with Kohort's own messages.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

FormatCheck = Callable[[str], Sequence[str]]
"""Returns the errors of a text, one line each."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY = "[-._a-zA-Z0-9]+"
_ENDS = "and must start and end with an alphanumeric character"


def _shown(words: str, regex: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {listed}regex used for validation is '{regex}')"


_LABEL_WORDS = _shown(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    _LABEL, "my-name", "123-abc",
)  # fmt: skip
_SUBDOMAIN_WORDS = _shown(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    _SUBDOMAIN, "example.com",
)  # fmt: skip
_PARTS = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_NAME_PART_WORDS = _shown(f"name part {_PARTS}", _QUALIFIED, "MyName", "my.name", "123-abc")
_QUALIFIED_WORDS = (
    _shown(f"a qualified name {_PARTS}", _QUALIFIED, "MyName", "my.name", "123-abc")
    + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_VALUE_WORDS = _shown(
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    f"({_QUALIFIED})?", "MyValue", "my_value", "12345",
)  # fmt: skip
_KEY_WORDS = _shown(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _KEY, "key.name", "KEY_NAME", "key-name",
)  # fmt: skip


def _text(regex: str, limit: int, words: str, unit: str = "characters") -> FormatCheck:
    shape = re.compile(regex)

    def check(value: str) -> Sequence[str]:
        problems = [f"must be no more than {limit} {unit}"] if len(value) > limit else []
        return problems if shape.fullmatch(value) else [*problems, words]

    return check


_label = _text(_LABEL, 63, _LABEL_WORDS)
subdomain = _text(_SUBDOMAIN, 253, _SUBDOMAIN_WORDS)
label_value = _text(f"({_QUALIFIED})?", 63, _VALUE_WORDS, "bytes")
config_key = _text(_KEY, 253, _KEY_WORDS)
_name_part = _text(_QUALIFIED, 63, _NAME_PART_WORDS, "bytes")


def label(value: str) -> Sequence[str]:
    """A DNS label."""
    problems = _label(value)
    if problems and "." in value and not subdomain(value):
        return [text if text != _LABEL_WORDS else "must not contain dots" for text in problems]
    return problems


@lru_cache(maxsize=4096)
def qualified_name(value: str) -> Sequence[str]:
    """A label key, annotation key or resource name; cached, since they repeat."""
    *prefixes, name = value.split("/")
    if len(prefixes) > 1:
        return [_QUALIFIED_WORDS]
    problems = [f"prefix part {problem}" for prefix in prefixes for problem in _prefix(prefix)]
    if not name:
        return [*problems, "name part must be non-empty", _NAME_PART_WORDS]
    return problems + [text if text.startswith("name part") else f"name part {text}" for text in _name_part(name)]


def _prefix(prefix: str) -> Sequence[str]:
    return subdomain(prefix) if prefix else ["must be non-empty"]


def path_segment(value: str) -> list[str]:
    """A URL path segment: names of RBAC objects."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in value]


def environment_name(value: str) -> list[str]:
    """The name of an environment variable."""
    if value and all(" " <= letter <= "~" and letter != "=" for letter in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def port_name(value: str) -> list[str]:
    """The name of a port."""
    if len(value) > 15:
        return ["must be no more than 15 characters"]
    checks = (
        (re.fullmatch(r"[-a-z0-9]+", value), "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        (re.search(r"[a-z]", value), "must contain at least one letter (a-z)"),
        ("--" not in value, "must not contain consecutive hyphens"),
        (value[:1] != "-" and value[-1:] != "-", "must not begin or end with a hyphen"),
    )
    return [words for fine, words in checks if not fine]


PORT_RANGE = "must be between 1 and 65535, inclusive"
NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
