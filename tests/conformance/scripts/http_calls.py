"""Plain HTTP requests that no client sends by itself: media types, methods, sizes, response formats."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from conformance.differences import (
    ADMIN,
    COLUMNS,
    MEDIA_TYPES,
    METADATA_OF_LISTS,
    NULLS,
    PRINTED_MERGE,
    TOKEN_REVIEW,
    Difference,
)
from conformance.script import ClientCall, Script

Json = Any
Api = Any
_JSON = "application/json"
_MAPS = "/api/v1/namespaces/{}/configmaps"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
_MERGE = "application/merge-patch+json"


def _asked(
    name: str,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    body: Json = None,
    differs: tuple[Difference, ...] = (),
) -> ClientCall:
    """A request as a call of that name; `{}` in the path is the namespace."""

    def ask(api: Api, namespace: str) -> Json:
        url = f"{api.configuration.host}{path.format(namespace)}"
        sent = {"Accept": _JSON, "Content-Type": _JSON, **(headers or {})}
        response = api.rest_client.request(method, url, headers=sent, body=body)
        content = response.read().decode()
        try:
            content = json.loads(content)
        except ValueError:
            content = content.splitlines()
        return {"status": response.status, "type": response.getheaders().get("Content-Type"), "body": content}

    return ClientCall(_named(ask, name), differs=differs)


def _named(function: Callable[[Api, str], Json], name: str) -> Callable[[Api, str], Json]:
    function.__name__ = name.replace(" ", "_")
    return function


def _map(name: str, **more: Json) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"by": "http"}}, **more}


def encodings(api: Api, namespace: str) -> Json:
    """Which responses are compressed, by their size and by what the client accepts."""
    found = {}
    url = f"{api.configuration.host}{_MAPS.format(namespace)}"
    for size in (1000, 100_000, 200_000):
        body = _map(f"map-{size}", data={"k": "x" * size})
        api.rest_client.request("POST", url, headers={"Content-Type": _JSON}, body=body)
        for accepted in ("gzip", "deflate, gzip", "gzip;q=0.5", "identity", "br"):
            sent = {"Accept": _JSON, "Accept-Encoding": accepted}
            answer = api.rest_client.request("GET", f"{url}/map-{size}", headers=sent).getheaders()
            found[f"{size}, {accepted}"] = [answer.get("Content-Encoding"), answer.get("Vary")]
    return found


CHAPTERS = (
    Script("encodings", (ClientCall(encodings),)),
    Script(
        "http",
        (
            _asked("creates", "POST", _MAPS, body=_map("a", data={"k": "v"})),
            _asked("creates with a warning", "POST", f"{_MAPS}?fieldValidation=Warn", body=_map("b", nothing=1)),
            _asked("reads a table", "GET", f"{_MAPS}?labelSelector=by%3Dhttp", {"Accept": _TABLE}, differs=(COLUMNS,)),
            _asked("reads a table of one", "GET", f"{_MAPS}/a", {"Accept": _TABLE}, differs=(COLUMNS,)),
            _asked(
                "reads a table with objects",
                "GET",
                f"{_MAPS}/a?includeObject=Object",
                {"Accept": _TABLE},
                differs=(COLUMNS,),
            ),
            _asked(
                "reads a table without any",
                "GET",
                f"{_MAPS}/a?includeObject=None",
                {"Accept": _TABLE},
                differs=(COLUMNS, NULLS),
            ),
            _asked("reads a table of a wrong kind", "GET", f"{_MAPS}/a?includeObject=Some", {"Accept": _TABLE}),
            _asked("reads metadata", "GET", f"{_MAPS}/a", {"Accept": _METADATA.format("")}),
            _asked("reads a list of metadata", "GET", f"{_MAPS}?limit=1", {"Accept": _METADATA.format("List")}),
            _asked(
                "reads metadata of another form",
                "GET",
                _MAPS,
                {"Accept": _METADATA.format("")},
                differs=(METADATA_OF_LISTS,),
            ),
            _asked("reads html", "GET", f"{_MAPS}/a", {"Accept": "text/html"}, differs=(MEDIA_TYPES,)),
            _asked("reads any media type", "GET", f"{_MAPS}/a", {"Accept": "*/*"}),
            _asked("prefers html but takes json", "GET", f"{_MAPS}/a", {"Accept": "text/html, application/json;q=0.5"}),
            _asked("sends a table", "POST", _MAPS, {"Content-Type": "text/csv"}, body="a,b"),
            _asked("patches without a form", "PATCH", f"{_MAPS}/a", body={"data": {"k": "w"}}, differs=(MEDIA_TYPES,)),
            _asked("patches by merging", "PATCH", f"{_MAPS}/a", {"Content-Type": _MERGE}, {"data": {"k": "w"}}),
            _asked("patches a list", "PATCH", f"{_MAPS}/a", {"Content-Type": _MERGE}, "[]"),
            _asked(
                "patches nonsense",
                "PATCH",
                f"{_MAPS}/a",
                {"Content-Type": _MERGE},
                {"data": "x"},
                differs=(PRINTED_MERGE,),
            ),
            _asked("patches what is not there", "PATCH", f"{_MAPS}/z", {"Content-Type": _MERGE}, {"data": {}}),
            _asked("applies nameless", "PATCH", f"{_MAPS}/y", {"Content-Type": "application/apply-patch+yaml"}, "{}"),
            _asked("posts to an object", "POST", f"{_MAPS}/a", body=_map("a")),
            _asked("puts a collection", "PUT", _MAPS, body=_map("a")),
            _asked("puts another name", "PUT", f"{_MAPS}/a", body=_map("b")),
            _asked("puts a new one", "PUT", f"{_MAPS}/new", body=_map("new")),
            _asked("deletes with wrong options", "DELETE", f"{_MAPS}/a?gracePeriodSeconds=x"),
            _asked("deletes with two wills", "DELETE", f"{_MAPS}/a?orphanDependents=true&propagationPolicy=Orphan"),
            _asked("deletes without effect", "DELETE", f"{_MAPS}/a?dryRun=All"),
            _asked("deletes some without effect", "DELETE", f"{_MAPS}?labelSelector=by%3Dhttp&dryRun=All"),
            _asked("writes too much", "POST", _MAPS, body=_map("big", data={"k": "x" * (4 << 20)})),
            _asked("writes more than a config map holds", "POST", _MAPS, body=_map("big", data={"k": "x" * (5 << 18)})),
            _asked("asks for discovery with a slash", "GET", "/apis/batch/"),
            _asked("asks for a version with a slash", "GET", "/apis/apps/"),
            _asked("asks for groups of old", "GET", "/apis/extensions/v1beta1"),
            _asked("asks for nothing", "GET", "/nothing"),
            _asked("writes a document", "POST", "/version", body={}),
            _asked("creates in no namespace", "POST", "/api/v1/configmaps", body=_map("a")),
            _asked(
                "creates in a namespace that is not there",
                "POST",
                _MAPS.replace("{}", "missing"),
                body=_map("a"),
            ),
            _asked("reads a subresource of nothing", "GET", f"{_MAPS}/a/scale"),
            _asked("evicts nothing", "POST", "/api/v1/namespaces/{}/pods/p/eviction", body={}),
            _asked("binds nothing", "POST", "/api/v1/namespaces/{}/pods/p/binding", body={"target": {"name": "n"}}),
            _asked("scales a map", "GET", "/apis/apps/v1/namespaces/{}/deployments/absent/scale"),
            _asked(
                "asks who it is", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body={}, differs=(ADMIN,)
            ),
            _asked("reads a review", "GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
            _asked(
                "asks without attributes", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body={}
            ),
            _asked(
                "reviews a token",
                "POST",
                "/apis/authentication.k8s.io/v1/tokenreviews",
                body={"spec": {"token": "x"}},
                differs=(TOKEN_REVIEW,),
            ),
        ),
    ),
)
