"""The front-proxy identity: a client certificate of a dedicated CA, by which aggregated servers trust this server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

USER_HEADER: Final = "X-Remote-User"
UID_HEADER: Final = "X-Remote-Uid"
GROUP_HEADER: Final = "X-Remote-Group"
EXTRA_PREFIX: Final = "X-Remote-Extra-"


@dataclass(frozen=True, slots=True)
class FrontProxyIdentity:
    """Certificate that this server presents to aggregated API servers."""

    authority: bytes
    name: str
    """The common name of the certificate."""
    certificate: Path
    key: Path

    def request_header_data(self) -> dict[str, str]:
        """The request-header settings of the `extension-apiserver-authentication` ConfigMap."""
        return {
            "requestheader-allowed-names": _listed((self.name,)),
            "requestheader-client-ca-file": self.authority.decode(),
            "requestheader-extra-headers-prefix": _listed((EXTRA_PREFIX,)),
            "requestheader-group-headers": _listed((GROUP_HEADER,)),
            "requestheader-username-headers": _listed((USER_HEADER,)),
        }


def _listed(texts: Sequence[str]) -> str:
    return msgspec.json.encode(texts).decode()
