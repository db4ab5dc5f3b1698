"""Users: name, groups, and extra information of the authenticator."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.codec import Json

ANONYMOUS_NAME = "system:anonymous"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated user, or the anonymous one."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def service_account(self) -> tuple[str, str] | None:
        """Namespace and name if the user is a service account."""
        if not self.name.startswith(_ACCOUNT_PREFIX):
            return None
        namespace, _, name = self.name.removeprefix(_ACCOUNT_PREFIX).partition(":")
        return (namespace, name) if namespace and name and ":" not in name else None

    def to_user_info(self) -> dict[str, Json]:
        """The `UserInfo` of reviews and webhooks."""
        info: dict[str, Json] = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


ANONYMOUS = User(ANONYMOUS_NAME, (UNAUTHENTICATED,))
LOOPBACK = User("system:apiserver", (MASTERS, AUTHENTICATED))
"""User of the server's own writes."""


def account_user(namespace: str, name: str, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None) -> User:
    """The user of a service account."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{_ACCOUNT_PREFIX}{namespace}:{name}", groups, uid, extra or {})
