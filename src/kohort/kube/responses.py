"""Errors and warnings in responses."""

import logging
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from http import HTTPStatus

from kohort.api.codec import decode_json
from kohort.api.errors import DecodeError
from kohort.kube.errors import StatusError

log = logging.getLogger(__name__)

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_MAX_TEXT = 200


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> StatusError:
    """The error of a response with status 400 or more, from the server or a proxy."""
    try:
        found = decode_json(body)
    except DecodeError:
        found = None
    if isinstance(found, dict) and found.get("kind") == "Status":
        error = StatusError.from_status(found, status)
    else:
        error = StatusError(status, _reason(status), _text(status, body))
    seconds = _seconds(headers.get("Retry-After", ""))
    if seconds is not None and error.retry_after is None:
        error.details = {**error.details, "retryAfterSeconds": seconds}
    return error


def _reason(status: int) -> str:
    """The reason as Kubernetes spells it: `ServiceUnavailable` for 503."""
    try:
        return HTTPStatus(status).phrase.title().replace(" ", "")
    except ValueError:
        return ""


def _text(status: int, body: bytes) -> str:
    text = " ".join(body[: 2 * _MAX_TEXT].decode("utf-8", "replace").split())[:_MAX_TEXT]
    return f"the server returned {status}" + (f": {text}" if text else "")


def _seconds(text: str) -> int | None:
    """Retry-After in seconds; dates are not supported, because API servers do not send them."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def warnings_in(headers: Mapping[str, str]) -> list[str]:
    """The texts of the warnings of a response."""
    value = headers.get("Warning")
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(value)] if value else []


WarningHandler = Callable[[str], None]


def log_warning(text: str) -> None:
    """The default handler of warnings."""
    log.warning("API server warning: %s", text)


class WarningDeduplicator:
    """Passes each text on once; keeps a bounded number of them."""

    def __init__(self, handler: WarningHandler = log_warning, remembered: int = 256) -> None:
        self._handler = handler
        self._remembered = remembered
        self._seen: OrderedDict[str, None] = OrderedDict()

    def __call__(self, text: str) -> None:
        """Pass a text on if it is new."""
        if text in self._seen:
            self._seen.move_to_end(text)
            return
        self._seen[text] = None
        if len(self._seen) > self._remembered:
            self._seen.popitem(last=False)
        self._handler(text)
