"""Secret values: they print as a placeholder in logs and tracebacks."""

import base64
import binascii
from dataclasses import dataclass, field

from kohort.kube.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SecretValue:
    """A secret text; `value` has to be read explicitly."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "<hidden>"

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A client certificate and its private key in PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


def from_base64(text: str, what: str) -> bytes:
    """Decodes a `…-data` field; raises ConfigError."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{what} is not valid base64: encode the PEM text, or use a file") from None
