"""URLs."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from kohort.embedded.cel.errors import EvaluationError
from kohort.embedded.cel.overloads import function, method
from kohort.embedded.cel.values import Opaque


@dataclass(frozen=True, slots=True)
class Url(Opaque):
    """A URL, absolute or at least with an absolute path."""

    type_name: ClassVar[str] = "kubernetes.URL"
    parts: SplitResult


def _parse(text: str) -> Url | None:
    if not text or any(character <= " " or character == "\x7f" for character in text):
        return None
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return None
    is_absolute = bool(parts.scheme) or text.startswith("/")
    return Url(parts) if is_absolute and not text.startswith("://") else None


@function("url", str)
def _url(text: str) -> Url:
    found = _parse(text)
    if found is None:
        raise EvaluationError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return found


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    return host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]


def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].partition(":")[2]


function("isURL", str)(lambda text: _parse(text) is not None)
method("getScheme", Url)(lambda url: url.parts.scheme)
method("getHost", Url)(_host)
method("getHostname", Url)(_hostname)
method("getPort", Url)(_port)
method("getEscapedPath", Url)(lambda url: quote(url.parts.path, safe="/%:@!$&'()*+,;=~"))
method("getQuery", Url)(lambda url: parse_qs(url.parts.query, keep_blank_values=True))
