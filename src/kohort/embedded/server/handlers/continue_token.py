"""Continue tokens of paged lists: the last key returned and the revision of the list.

Tokens are opaque to clients and grant nothing: requests that use them are authorized as any other.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass

import msgspec

from kohort.kube.errors import StatusError, bad_request, expired

_MAX_TOKEN = 4096


@dataclass(frozen=True, slots=True)
class ContinueToken:
    """Decoded continue token."""

    revision: int
    namespace: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """Key of the last object returned."""
        return self.namespace, self.name


_decode = msgspec.json.Decoder(ContinueToken).decode


def write_token(continuation: ContinueToken) -> str:
    """Encodes a continue token."""
    return urlsafe_b64encode(msgspec.json.encode(continuation)).decode().rstrip("=")


def read_token(token: str) -> ContinueToken:
    """Decodes a continue token."""
    if len(token) > _MAX_TOKEN:
        raise bad_request("invalid continue token: continue key is not valid: it is too long")
    try:
        return _decode(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (Base64Error, ValueError, msgspec.DecodeError, UnicodeError):
        raise bad_request(
            "invalid continue token: continue key is not valid: illegal base64 data or encoding"
        ) from None


def token_expired() -> StatusError:
    """The error for a token whose revision is compacted."""
    return expired(
        "The provided continue parameter is too old to display a consistent list result. "
        "You must start a new list without the continue parameter."
    )
