"""Valid requests to the API server with one or two faults: no response is a 500, and none breaks the server.

Each part of a request (method, path, query, headers, the text of the body, its members) is damaged by itself. So the
fault gets past the checks of all other parts, which a request that is random throughout seldom does.
"""

import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from embedded.server.objects import deployment, widget, widget_definition
from fuzz.mutations import JUNK, SEED, damaged, rounds
from fuzz.responses import ADMIN, checked_status
from kit.apiserver import InMemoryApiServer, Object, running_apiserver
from kit.builders.core import make_config_map, make_pod
from kohort.embedded.server.requests.request_info import ServerRequest

PER_SERVER = 200
"""Damaged requests to one server."""
SERVERS = 6
HALF = 0.5
PASSED = (200, 201, 401, 403, 409, 503)
"""Responses to requests without a fault: some tokens and permissions are unknown, and nothing runs that has a log."""


@dataclass(frozen=True)
class DamagedRequest:
    """A request whose body is still an object."""

    method: str
    path: str
    body: object = None
    content_type: str = "application/json"
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    text: bytes | None = None
    """The body as it is sent, where that is not the object in JSON."""
    is_known: bool = True
    """Whether the connection proves an administrator."""

    @property
    def data(self) -> bytes:
        if self.text is not None:
            return self.text
        return b"" if self.body is None else json.dumps(self.body).encode(errors="surrogatepass")

    def inbound(self) -> ServerRequest:
        headers = CIMultiDict([("Content-Type", self.content_type), *self.headers])
        peer = ADMIN if self.is_known else None
        return ServerRequest(self.method, self.path, self.query, CIMultiDictProxy(headers), self.data, peer)


CORE = "/api/v1/namespaces/default"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRICT = (("fieldValidation", "Strict"),)
APPLY = (("fieldManager", "fuzz"), ("force", "true"))
PAGE = (("limit", "5"), ("labelSelector", "a=b"), ("fieldSelector", "metadata.name=seed"), ("resourceVersion", "0"))
LOG = (("container", "main"), ("tailLines", "5"), ("sinceSeconds", "5"), ("limitBytes", "5"), ("timestamps", "true"))
WATCH = (("watch", "true"), ("timeoutSeconds", "1"), ("resourceVersion", "1"), ("allowWatchBookmarks", "true"))
REMOVAL = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "gracePeriodSeconds": 5,
    "propagationPolicy": "Background",
    "preconditions": {"uid": "u", "resourceVersion": "1"},
}
REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}
SCALE = {
    "kind": "Scale",
    "apiVersion": "autoscaling/v1",
    "metadata": {"name": "seed", "namespace": "default"},
    "spec": {"replicas": 1},
}
EVICTION = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "seed"}, "deleteOptions": REMOVAL}
BINDING = {"metadata": {"name": "seed"}, "target": {"kind": "Node", "name": "n"}}
MAP = {**make_config_map("seed", a="b"), "metadata": {"name": "seed", "labels": {"a": "b"}, "annotations": {"a": "b"}}}
STEPS = [{"op": "add", "path": "/data", "value": {"a": "b"}}, {"op": "test", "path": "/metadata/name", "value": "seed"}]


def valid() -> Iterator[DamagedRequest]:
    """One request of each sort."""
    for kind, place in (
        ({**MAP, "metadata": {"generateName": "m-"}}, f"{CORE}/configmaps"),
        (make_pod("x"), f"{CORE}/pods"),
    ):
        yield DamagedRequest("POST", place, kind, query=STRICT)
        yield DamagedRequest("GET", place, query=PAGE)
        yield DamagedRequest("GET", place, query=WATCH)
    yield DamagedRequest("POST", WIDGETS, widget("x"), query=STRICT)
    yield DamagedRequest("PUT", f"{CORE}/configmaps/seed", MAP, query=(*STRICT, ("dryRun", "All")))
    yield DamagedRequest("PATCH", f"{WIDGETS}/seed/status", {"status": {"ready": True}}, "application/merge-patch+json")
    yield DamagedRequest("PUT", f"{DEPLOYMENTS}/seed", deployment("seed"), query=STRICT)
    yield DamagedRequest("PUT", f"{DEPLOYMENTS}/seed/scale", SCALE)
    for found, place in ((MAP, f"{CORE}/configmaps/seed"), (widget("seed"), f"{WIDGETS}/seed")):
        yield DamagedRequest("PATCH", place, found, "application/apply-patch+yaml", APPLY)
        yield DamagedRequest("PATCH", place, found, "application/merge-patch+json", STRICT)
    yield DamagedRequest("PATCH", f"{DEPLOYMENTS}/seed", deployment("seed"), "application/strategic-merge-patch+json")
    yield DamagedRequest("PATCH", f"{CORE}/configmaps/seed", STEPS, "application/json-patch+json")
    yield DamagedRequest("DELETE", f"{CORE}/configmaps/seed", REMOVAL)
    yield DamagedRequest("DELETE", f"{CORE}/configmaps", REMOVAL, query=(("labelSelector", "none=at-all"),))
    yield DamagedRequest("POST", f"{CORE}/pods/seed/eviction", EVICTION)
    yield DamagedRequest("POST", f"{CORE}/pods/seed/binding", BINDING)
    yield DamagedRequest("GET", f"{CORE}/pods/seed/log", query=LOG)
    yield DamagedRequest("POST", f"{CORE}/serviceaccounts/default/token", {"spec": {"expirationSeconds": 600}})
    yield DamagedRequest("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", REVIEW)
    yield DamagedRequest("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": TOKENS[1]}})
    yield DamagedRequest("GET", "/apis", headers=(("Authorization", f"Bearer {TOKENS[1]}"),), is_known=False)
    yield DamagedRequest(
        "GET", f"{CORE}/configmaps", headers=(("Impersonate-User", "ann"), ("Impersonate-Group", "team"))
    )


def token(head: bytes, claims: bytes = b"{}") -> str:
    parts = (urlsafe_b64encode(each).decode().rstrip("=") for each in (head, claims, b"signature"))
    return ".".join(parts)


ALG = b'{"alg":"ES256"}'
TOKENS = (
    "a.b.c",
    token(ALG),
    token(b'{"alg":' + b"[" * 9000),
    token(ALG, b'{"sub":' * 9000),
    token(b"[]", b"[]"),
    token(b"\xff"),
    "\udcff",
)
NUMBERS = ("", "-1", "+-5", "--1", "1e3", "1.5", " 1", "1_0", "0x1", "٣", "9" * 25, "0" * 5000, "\udcff")
WORDS = ("", "0", "-1", "true", "Strict", "!", "a in (b", "a=b,=", "x" * 300, "\udcff", "\x00")
PARTS = ("", ".", "..", "%", "%2f", "%00", "%ff", "\udcff", "seed", "status", "x" * 300, "namespaces")
NAMES = ("Accept", "If-None-Match", "Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-a")
TYPES = ("", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;as=Table", "*/*;q=", "\udcff")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "get", "")
ENDS = (b"", b"}", b"\xff", b"\x00", b"[" * 20000, b'{"a":' * 3000, b'{"a":1,"a":2}')


# Each of these damages one part.


def with_other_method(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    return replace(sent, method=dice.choice(METHODS))


def with_other_path(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    parts = sent.path.split("/")
    place = dice.randrange(1, len(parts) + 1)
    return replace(sent, path="/".join([*parts[:place], dice.choice(PARTS), *parts[place + dice.randrange(2) :]]))


def with_other_query(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    known = dict([*PAGE, *WATCH, *LOG, *STRICT, *APPLY, ("dryRun", "All"), ("continue", ""), *sent.query])
    given = dict(sent.query)
    name = dice.choice([*given, *given, *known])
    given[name] = dice.choice(NUMBERS if known[name].isdigit() else WORDS)
    return replace(sent, query=tuple(given.items()))


def with_other_header(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    name = dice.choice(NAMES)
    return replace(sent, headers=(*(pair for pair in sent.headers if pair[0] != name), (name, dice.choice(WORDS))))


def with_token(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    return replace(sent, headers=(("Authorization", f"Bearer {dice.choice(TOKENS)}"),), is_known=False)


def with_other_type(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    return replace(sent, content_type=dice.choice(TYPES))


def with_other_text(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    data = sent.data
    return replace(sent, text=data[: dice.randrange(len(data) + 1)] + dice.choice(ENDS))


def with_other_members(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    return replace(sent, body=damaged(sent.body, dice))


def with_other_head(sent: DamagedRequest, dice: random.Random) -> DamagedRequest:
    """Damage to what all objects have: few members, read in many places."""
    if not isinstance(sent.body, dict):
        return sent
    names = dice.choice((("metadata",), ("kind", "metadata"), ("apiVersion", "metadata")))
    if dice.random() < HALF:
        return replace(sent, body={**sent.body, **{name: dice.choice(JUNK) for name in names}})
    head = {name: sent.body[name] for name in names if name in sent.body}
    found = damaged(head, dice)
    return replace(sent, body={**sent.body, **found} if isinstance(found, dict) else found)


Damage = Callable[[DamagedRequest, random.Random], DamagedRequest]
OF_HEADS: tuple[Damage, ...] = (with_other_method, with_other_path, with_other_query, with_other_header, with_token)
OF_BODIES: tuple[Damage, ...] = (with_other_type, with_other_text, with_other_head, with_other_members)


def damaged_request(dice: random.Random) -> DamagedRequest:
    """A request with one fault, or sometimes two."""
    sent = dice.choice(VALID)
    sorts = OF_HEADS if sent.body is None else (*OF_HEADS, *OF_BODIES, *OF_BODIES)
    for _ in range(dice.choice((1, 1, 2))):
        sent = dice.choice(sorts)(sent, dice)
    return sent


VALID = list(valid())
SEEDS: list[Object] = [
    widget_definition(),
    *(dict(each) for each in (make_config_map("seed"), make_pod("seed"), widget("seed"), deployment("seed"))),
]


async def place_seeds(cluster: InMemoryApiServer) -> None:
    for each in SEEDS:
        await cluster.create(each)


async def test_requests_with_a_fault_are_no_fault_of_the_server() -> None:
    for count in rounds(SERVERS):
        dice = random.Random(f"{SEED} {count}")  # noqa: S311 - not for secrets
        async with running_apiserver() as cluster:
            await place_seeds(cluster)
            for _ in range(PER_SERVER):
                sent = damaged_request(dice)
                await checked_status(cluster, sent.inbound(), sent)
            assert (await cluster.request("GET", "/readyz")).status == 200


@pytest.mark.parametrize("sent", VALID, ids=lambda sent: f"{sent.method} {sent.path} {sent.content_type}")
async def test_the_requests_that_are_damaged_pass_as_they_are(sent: DamagedRequest) -> None:
    """Otherwise the damage could be hidden by an earlier refusal."""
    async with running_apiserver() as cluster:
        await place_seeds(cluster)
        assert await checked_status(cluster, sent.inbound(), sent) in PASSED, sent
