"""Random requests to the API server, from the request line to the object: no response is a 500, none breaks it.

`make test` sends a few hundred; `make fuzz` searches longer.
"""

import asyncio
import json
from base64 import urlsafe_b64encode
from typing import Any, NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from embedded.server.objects import widget, widget_definition
from fuzz.responses import ADMIN, checked_status
from kit.apiserver import running_apiserver
from kit.builders.core import make_config_map, make_pod
from kohort.embedded.server.requests.request_info import ServerRequest

REQUESTS_PER_SERVER = 12

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", "")
SEGMENTS = st.one_of(
    st.sampled_from(
        [
            "api",
            "apis",
            "v1",
            "example.com",
            "batch",
            "namespaces",
            "default",
            "configmaps",
            "pods",
            "widgets",
            "seed",
            "status",
            "scale",
            "eviction",
            "binding",
            "log",
            "token",
            "watch",
            "proxy",
            "jobs",
            "nodes",
            "finalize",
            "",
            ".",
            "..",
            "%2e%2e",
            "%2f",
            "%",
            "%zz",
            "%00",
            "%ff",
            "seed%2fstatus",
            "�",
            "é",
        ]
    ),
    st.text(max_size=6),
)
PATHS = st.one_of(
    st.sampled_from(
        [
            "/api/v1/namespaces/default/configmaps/seed",
            "/api/v1/namespaces/default/pods/seed",
            "/api/v1/namespaces/default/pods/seed/eviction",
            "/api/v1/namespaces/default/pods/seed/binding",
            "/api/v1/namespaces/default/configmaps",
            "/apis/example.com/v1/namespaces/default/widgets",
            "/apis/example.com/v1/namespaces/default/widgets/seed/status",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
        ]
    ),
    st.lists(SEGMENTS, max_size=9).map(lambda parts: "/" + "/".join(parts)),
)
NAMES = [
    "limit",
    "continue",
    "watch",
    "timeoutSeconds",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
    "dryRun",
    "force",
    "fieldManager",
    "fieldValidation",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "sendInitialEvents",
    "pretty",
    "allowWatchBookmarks",
    "container",
    "tailLines",
    "sinceSeconds",
    "sinceTime",
    "limitBytes",
    "follow",
]
TEXTS = st.one_of(
    st.sampled_from(
        ["", "0", "-1", "+-5", "1e3", "9" * 25, "true", "Strict", "All", "a=b", "a in (b", "!", "\udcff", "٣"]
    ),
    st.text(max_size=12),
)
QUERIES = st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), max_size=4)
DEEP = urlsafe_b64encode(b'{"alg":' + b"[" * 6000).decode().rstrip("=")
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Accept",
                "Authorization",
                "Content-Type",
                "Impersonate-User",
                "Impersonate-Group",
                "Impersonate-Uid",
                "Impersonate-Extra-scope",
                "If-None-Match",
                "User-Agent",
            ]
        ),
        st.one_of(
            st.sampled_from([f"Bearer {DEEP}.e30.AA", "Bearer a.b.c", "Bearer \udcff", "Basic x", "\udcff\udcfe"]),
            st.sampled_from(["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]),
            st.sampled_from([f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge")]),
            st.sampled_from(["application/apply-patch+yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "*/*;q="]),
            st.text(max_size=10),
        ),
    ),
    max_size=4,
)
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(
            st.sampled_from(["metadata", "spec", "name", "kind", "apiVersion", "data", "labels", "target", "x"]), below
        ),
    ),
    max_leaves=8,
)
BODIES = st.one_of(
    st.just(b""),
    st.binary(max_size=40),
    st.sampled_from(
        [b"{not json", b'{"a":1,"a":', b"[" * 20000, b'{"metadata":' * 3000, b"k8s\x00\xff", b"a: &a [*a]"]
    ),
    st.sampled_from([make_config_map("seed", a="b"), make_pod("seed"), widget("seed")]).map(
        lambda each: _encoded(each)
    ),
    ANY_JSON.map(lambda each: _encoded(each)),
)


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode(errors="surrogatepass")


class FuzzedRequest(NamedTuple):
    """One request."""

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: list[tuple[str, str]]
    body: bytes
    is_admin: bool

    def inbound(self) -> ServerRequest:
        headers = CIMultiDictProxy(CIMultiDict(self.headers))
        peer = ADMIN if self.is_admin else None
        return ServerRequest(self.method, self.path, tuple(self.query), headers, self.body, peer)


PLAUSIBLE = st.builds(
    FuzzedRequest,
    st.sampled_from(["POST", "PUT", "GET"]),
    st.sampled_from(["/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/seed"]),
    st.sampled_from([[], [("fieldValidation", "Strict")], [("limit", "+-5")], [("dryRun", "All")]]),
    st.sampled_from([[], [("User-Agent", "\udcff")], [("Impersonate-User", "\udcff\udcfe")]]),
    BODIES,
    st.just(value=True),
)
"""Requests that are wrong in one or two places: these get far."""
SENT = st.one_of(
    PLAUSIBLE,
    st.builds(
        FuzzedRequest, st.sampled_from(METHODS), PATHS, QUERIES, HEADERS, BODIES, st.sampled_from([True, True, False])
    ),
)


async def answer_all(requests: list[FuzzedRequest]) -> None:
    async with running_apiserver() as cluster:
        for seed in (widget_definition(), make_config_map("seed"), make_pod("seed"), widget("seed")):
            await cluster.create(seed)
        for each in requests:
            await checked_status(cluster, each.inbound(), each)
        assert (await cluster.request("GET", "/readyz")).status == 200


MAPS = "/api/v1/namespaces/default/configmaps"
KNOWN = [
    FuzzedRequest("POST", MAPS, [("fieldValidation", "Strict")], [], b"{not json", is_admin=True),
    FuzzedRequest("GET", MAPS, [("limit", "+-5")], [], b"", is_admin=True),
    FuzzedRequest("GET", MAPS, [], [("Impersonate-User", "\udcff\udcfe")], b"", is_admin=True),
    FuzzedRequest("GET", MAPS, [], [("Authorization", f"Bearer {DEEP}.e30.AA")], b"", is_admin=False),
]
"""Requests whose response once was a 500."""


@example(KNOWN)
@given(st.lists(SENT, min_size=1, max_size=REQUESTS_PER_SERVER))
def test_no_request_results_in_an_internal_server_error(requests: list[FuzzedRequest]) -> None:
    asyncio.run(answer_all(requests))
