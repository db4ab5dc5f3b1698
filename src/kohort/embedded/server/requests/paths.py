"""Request paths as kube-apiserver parses them: decoded once, then split, so that authorization, handlers and aggregated
servers see the same segments.
"""

import re
from urllib.parse import quote, unquote

from kohort.kube.errors import StatusError, bad_request

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_DOTS = (".", "..")


def unknown_path() -> StatusError:
    """The error for a path that is not served."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def decoded_path(raw: str) -> str:
    """The percent-decoded path; raises 400 for an incomplete escape."""
    if "%" not in raw:
        return raw
    if _BROKEN_ESCAPE.search(raw):
        raise bad_request("the request's path has an invalid URL escape")
    return unquote(raw)


def path_segments(path: str) -> tuple[str, ...]:
    """The segments of a decoded path; raises on dot segments, which another server could resolve to another path.

    Empty segments are kept: dropping them would give one object many paths.
    """
    if path.startswith("//"):
        raise unknown_path()
    trimmed = path.strip("/")
    if not trimmed:
        return ()
    segments = tuple(trimmed.split("/"))
    for dots in _DOTS:
        if dots in segments:
            raise bad_request(f"Name parameter invalid: \"{dots}\": may not be '{dots}'")
    return segments


def encoded_path(segments: tuple[str, ...]) -> str:
    """The canonical encoding of a path, for forwarding."""
    return "/" + "/".join(quote(each, safe="") for each in segments)
