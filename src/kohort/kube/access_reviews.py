"""Delegated authentication and authorization of requests to the manager's servers: TokenReview, SubjectAccessReview.

Results are cached for some seconds, and their number is bounded, so that repeated requests cost the API server nothing.
"""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, Generic, TypeVar

from kohort.api.codec import Json, decode_json, encode
from kohort.kube.client import Client
from kohort.kube.clock import Clock
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.transport import Request

log = logging.getLogger(__name__)

CACHE_SECONDS: Final = 10.0
MAX_CACHED: Final = 1000
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class AuthenticatedUser:
    """A user that the API server authenticated."""

    name: str
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def spec(self) -> dict[str, Any]:
        """The user as in the spec of a review."""
        shown: dict[str, Any] = {"user": self.name, "groups": list(self.groups)}
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


@dataclass(frozen=True, slots=True)
class AccessAttributes:
    """The attributes of an access: a verb on a resource, or on a path if `resource` is empty."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def spec(self) -> dict[str, Any]:
        """The attributes as in the spec of a review."""
        if not self.resource:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        members = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        shown = {member: getattr(self, member) for member in members}
        return {"resourceAttributes": {member: value for member, value in shown.items() if value}}

    def __str__(self) -> str:
        if not self.resource:
            return f'{self.verb} path "{self.path}"'
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f' in the namespace "{self.namespace}"' if self.namespace else " at the cluster scope"
        return f'{self.verb} resource "{what}" in API group "{self.group}"{where}'


class TtlCache(Generic[K, V]):
    """A bounded cache with expiring entries; the oldest are evicted first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    async def get(self, key: K, load: Callable[[], Awaitable[V]]) -> V:
        """The cached value, or a new one."""
        found = self._entries.get(key)
        if found is not None and self._clock.now() < found[0]:
            return found[1]
        answer = await load()
        self._entries[key] = (self._clock.now() + CACHE_SECONDS, answer)
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_CACHED:
            self._entries.popitem(last=False)
        return answer


@dataclass(frozen=True)
class AccessReviewer:
    """Creates reviews; `client` must be allowed to create both kinds."""

    client: Client
    _tokens: TtlCache[bytes, AuthenticatedUser | None] = field(init=False)
    _authorizations: TtlCache[tuple[AuthenticatedUser, AccessAttributes], bool] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tokens", TtlCache(self.client.clock))
        object.__setattr__(self, "_authorizations", TtlCache(self.client.clock))

    async def user_of(self, token: str) -> AuthenticatedUser | None:
        """The user of a token; None if the API server does not authenticate it."""
        # Cached by digest, so that neither a memory dump nor a log contains the token.
        return await self._tokens.get(sha256(token.encode()).digest(), lambda: self._review_token(token))

    async def allows(self, user: AuthenticatedUser, access: AccessAttributes) -> bool:
        """Whether the user is authorized."""
        return await self._authorizations.get((user, access), lambda: self._review_access(user, access))

    async def _review_token(self, token: str) -> AuthenticatedUser | None:
        status = await self._create(TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        extra = sorted((key, tuple(values)) for key, values in (user.get("extra") or {}).items())
        return AuthenticatedUser(str(user.get("username", "")), tuple(user.get("groups") or ()), tuple(extra))

    async def _review_access(self, user: AuthenticatedUser, access: AccessAttributes) -> bool:
        spec = user.spec() | access.spec()
        status = await self._create(REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return bool(status.get("allowed"))

    async def _create(self, path: str, api_version: str, kind: str, spec: Json) -> Mapping[str, Any]:
        body = encode({"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec})
        request = Request("POST", path, headers={"Content-Type": "application/json"}, body=body)
        try:
            # A review is not stored, so that repeating it is safe.
            answer = decode_json(await self.client.call(request, idempotent=True))
        except KubeError as error:
            log.warning("creating %s failed: %s", kind, error)
            raise StatusError(503, "ServiceUnavailable", f"creating {kind} failed: {error}") from error
        status = answer.get("status") if isinstance(answer, dict) else None
        return status if isinstance(status, dict) else {}
