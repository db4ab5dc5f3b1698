"""Who asks one of the manager's own servers, and whether he may: both are the API server's to say.

A bearer token is reviewed by TokenReview, a right by SubjectAccessReview. Answers are kept for seconds, and few of
them, so that somebody who asks in a loop costs the API server nothing.
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

KEPT_SECONDS: Final = 10.0
MOST_KEPT: Final = 1000
REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105  a path

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class User:
    """Somebody, as the API server knows him."""

    name: str
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def spec(self) -> dict[str, Any]:
        """As reviews name him."""
        shown: dict[str, Any] = {"user": self.name, "groups": list(self.groups)}
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


@dataclass(frozen=True, slots=True)
class Act:
    """What somebody wants to do: a verb on a resource, or on a path where `resource` is empty."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def spec(self) -> dict[str, Any]:
        """As reviews name it."""
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


class Kept(Generic[K, V]):
    """Answers of the last seconds, the oldest dropped first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[K, tuple[float, V]] = OrderedDict()

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer that is kept, or a new one."""
        found = self._answers.get(key)
        if found is not None and self._clock.now() < found[0]:
            return found[1]
        answer = await ask()
        self._answers[key] = (self._clock.now() + KEPT_SECONDS, answer)
        self._answers.move_to_end(key)
        while len(self._answers) > MOST_KEPT:
            self._answers.popitem(last=False)
        return answer


@dataclass(frozen=True)
class Reviews:
    """The API server as judge; `client` must be allowed to create both kinds of reviews."""

    client: Client
    _tokens: Kept[bytes, User | None] = field(init=False)
    _rights: Kept[tuple[User, Act], bool] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tokens", Kept(self.client.clock))
        object.__setattr__(self, "_rights", Kept(self.client.clock))

    async def user_of(self, token: str) -> User | None:
        """Whose token it is; nobody's where the API server does not know it."""
        # Kept under its digest: a dump of memory or a log must not show it.
        return await self._tokens.get(sha256(token.encode()).digest(), lambda: self._review_token(token))

    async def allows(self, user: User, act: Act) -> bool:
        """Whether the user may do that."""
        return await self._rights.get((user, act), lambda: self._review_right(user, act))

    async def _review_token(self, token: str) -> User | None:
        status = await self._ask(TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        extra = sorted((key, tuple(values)) for key, values in (user.get("extra") or {}).items())
        return User(str(user.get("username", "")), tuple(user.get("groups") or ()), tuple(extra))

    async def _review_right(self, user: User, act: Act) -> bool:
        spec = user.spec() | act.spec()
        status = await self._ask(REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return bool(status.get("allowed"))

    async def _ask(self, path: str, api_version: str, kind: str, spec: Json) -> Mapping[str, Any]:
        body = encode({"apiVersion": api_version, "kind": kind, "metadata": {}, "spec": spec})
        request = Request("POST", path, headers={"Content-Type": "application/json"}, body=body)
        try:
            # A review changes nothing: asking twice is as good as once.
            answer = decode_json(await self.client.call(request, idempotent=True))
        except KubeError as error:
            log.warning("%s could not be asked for: %s", kind, error)
            raise StatusError(503, "ServiceUnavailable", f"{kind} could not be asked for: {error}") from error
        status = answer.get("status") if isinstance(answer, dict) else None
        return status if isinstance(status, dict) else {}
