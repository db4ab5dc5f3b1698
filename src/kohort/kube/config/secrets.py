"""Values that must not be seen: they print as a placeholder wherever they turn up, in a log or a traceback."""

import base64
import binascii
from dataclasses import dataclass, field

from kohort.kube.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SecretValue:
    """A text that shows itself only when asked to."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "<hidden>"

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A client certificate and its key, in PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


def from_base64(text: str, what: str) -> bytes:
    """The bytes of a `…-data` field."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{what} is not base64: encode the PEM text, or name a file instead") from None
