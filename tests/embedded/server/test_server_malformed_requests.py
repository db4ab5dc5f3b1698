"""Any request gets a valid response: never a traceback, never an internal error."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.server.objects import binding, deployment, role, rule, widget, widget_definition
from kit.apiserver import InMemoryApiServer, Object, running_apiserver
from kit.builders.core import make_config_map, make_pod, make_resource_quota

VALUES: list[Any] = [None, True, -1, 3.3, 2**70, "", "a/b", "\x00", "é" * 90, [], [None], {}, {"a": {"b": [{}]}}]
SEEDS = [
    make_config_map("seed", x="1"),
    make_pod("seed"),
    deployment("seed"),
    role("seed", rule("pods", "get")),
    binding("seed", "seed", "jane"),
    make_resource_quota("seed", pods="3"),
    widget("seed"),
    widget_definition(),
]
FORMS = ["merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"]
QUERIES = [
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "dryRun",
    "fieldValidation",
    "force",
]
SUBRESOURCES = st.sampled_from(["", "", "/status", "/scale", "/token", "/binding"])


@st.composite
def spoiled(draw: st.DrawFn, found: Any) -> Any:
    """An object with a few of its parts replaced by nonsense, or gone."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(VALUES))
    if isinstance(found, dict):
        return {name: draw(spoiled(value)) for name, value in found.items() if draw(st.integers(0, 15))}
    if isinstance(found, list):
        return [draw(spoiled(value)) for value in found]
    return found


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, Object, str, Any, dict[str, str], dict[str, str]]:
    seed = draw(st.sampled_from(SEEDS))
    method = draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]))
    form = draw(st.sampled_from(FORMS))
    kind = {"Content-Type": f"application/{form}" if method == "PATCH" else "application/json"}
    query = {draw(st.sampled_from(QUERIES)): draw(st.text(max_size=12)), "fieldManager": "tester"}
    return method, seed, draw(SUBRESOURCES), draw(spoiled(seed)), kind, query


EXPECTED = ("typed patch object", "declared merge key", "list element types", "unable to find api field")
"""What the real server, too, calls an error of its own."""


async def answered(asked: list[tuple[str, Object, str, Any, dict[str, str], dict[str, str]]]) -> None:
    async with running_apiserver() as cluster:
        for seed in (widget_definition(), *SEEDS[:-1]):
            await cluster.create(seed)
        for method, seed, subresource, body, headers, query in asked:
            await one_answer(cluster, method, seed, subresource, body, headers, query)


async def one_answer(
    cluster: InMemoryApiServer,
    method: str,
    seed: Object,
    subresource: str,
    body: Any,
    headers: dict[str, str],
    query: dict[str, str],
) -> None:
    path = cluster.collection_path(seed)
    if method != "POST":
        path = f"{path}/{seed['metadata']['name']}{subresource}"
    reply = await cluster.request(method, path, body, headers, **query)
    if reply.status >= 500 and reply.status != 504:
        assert any(text in reply.message for text in EXPECTED), reply


@settings(max_examples=25)
@given(st.lists(requests(), max_size=12))
def test_malformed_requests_get_a_response(
    asked: list[tuple[str, Object, str, Any, dict[str, str], dict[str, str]]],
) -> None:
    asyncio.run(answered(asked))
