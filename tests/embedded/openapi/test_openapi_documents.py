"""OpenAPI v3: an index with hashes, and documents with all that kubectl reads."""

from dataclasses import replace
from typing import Any

import pytest

from kohort.api.codec import decode_json
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.openapi.documents import OpenApiDocuments
from kohort.embedded.resources import ServedResource, Subresource

PREFIX = "#/components/schemas/"
STATUS = Subresource("status", "Queue", ("get", "patch", "update"))
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
QUEUE = ServedResource(
    "kueue.x-k8s.io", "v1beta2", "queues", "Queue", True, schema=SchemaNode(SCHEMA, {}), list_kind="QueueList",
    subresources=(STATUS,), is_custom=True,
)  # fmt: skip
SERVED = (*builtin_resources(), QUEUE)
GROUP_VERSIONS = sorted(OpenApiDocuments().index(SERVED)["paths"])


def document(path: str, served: tuple[ServedResource, ...] = SERVED) -> Any:
    found = OpenApiDocuments().document(served, path)
    assert found is not None
    return decode_json(found.data)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def test_the_index_leads_to_each_group_version_by_a_hash() -> None:
    documents = OpenApiDocuments()
    entry = documents.index(SERVED)["paths"]["apis/batch/v1"]["serverRelativeURL"]
    found = documents.document(SERVED, "apis/batch/v1")
    assert found is not None
    assert entry == f"/openapi/v3/apis/batch/v1?hash={found.hash}"
    assert "api/v1" in GROUP_VERSIONS


def test_a_changed_schema_changes_its_hash_and_no_other() -> None:
    properties = {**SCHEMA["properties"], "new": {"type": "string"}}  # type: ignore[dict-item]
    changed = replace(QUEUE, schema=SchemaNode({**SCHEMA, "properties": properties}, {}))
    before, after = (
        OpenApiDocuments().index(SERVED)["paths"],
        OpenApiDocuments().index((*builtin_resources(), changed))["paths"],
    )
    assert {path for path in before if before[path] != after[path]} == {"apis/kueue.x-k8s.io/v1beta2"}


def test_a_document_is_rendered_once_while_nothing_changes() -> None:
    documents = OpenApiDocuments()
    once = documents.document(SERVED, "apis/batch/v1")
    assert documents.document(SERVED, "apis/batch/v1") is once
    assert documents.document((), "apis/batch/v1") is None


@pytest.mark.parametrize("path", GROUP_VERSIONS)
def test_every_reference_is_resolved_within_the_document(path: str) -> None:
    found = document(path)
    known = {PREFIX + name for name in found["components"]["schemas"]}
    assert references(found) <= known


@pytest.mark.parametrize("path", GROUP_VERSIONS)
def test_types_are_single_as_openapi_3_0_requires(path: str) -> None:
    found = OpenApiDocuments().document(SERVED, path)
    assert found is not None
    assert b'"type":"string"' in found.data
    assert b'"type":[' not in found.data


@pytest.mark.parametrize("path", GROUP_VERSIONS)
def test_operations_have_names_of_their_own(path: str) -> None:
    operations = [op for entry in document(path)["paths"].values() for op in entry.values() if isinstance(op, dict)]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    assert all(one["x-kubernetes-group-version-kind"]["kind"] for one in operations)


JOB = "/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
CUSTOM = "/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/queues/{name}"


@pytest.mark.parametrize(("path", "one"), [("apis/batch/v1", JOB), ("apis/kueue.x-k8s.io/v1beta2", CUSTOM)])
def test_kubectl_finds_that_fields_can_be_validated(path: str, one: str) -> None:
    patch = document(path)["paths"][one]["patch"]
    assert {parameter["name"] for parameter in patch["parameters"]} == {
        "dryRun", "fieldManager", "fieldValidation", "force",
    }  # fmt: skip
    assert patch["x-kubernetes-action"] == "patch"


def test_only_built_in_kinds_take_strategic_patches() -> None:
    strategic = "application/strategic-merge-patch+json"
    assert strategic in document("apis/batch/v1")["paths"][JOB]["patch"]["requestBody"]["content"]
    content = document("apis/kueue.x-k8s.io/v1beta2")["paths"][CUSTOM]["patch"]["requestBody"]["content"]
    assert strategic not in content
    assert "application/apply-patch+yaml" in content


def test_explain_finds_kinds_descriptions_and_merge_keys() -> None:
    schemas = document("apis/batch/v1")["components"]["schemas"]
    job = schemas["io.k8s.api.batch.v1.Job"]
    assert job["x-kubernetes-group-version-kind"] == [{"group": "batch", "version": "v1", "kind": "Job"}]
    spec = job["properties"]["spec"]
    assert spec["allOf"] == [{"$ref": PREFIX + "io.k8s.api.batch.v1.JobSpec"}]
    assert spec["description"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert (containers["type"], containers["x-kubernetes-patch-merge-key"]) == ("array", "name")


def test_a_custom_kind_is_named_after_its_group() -> None:
    schemas = document("apis/kueue.x-k8s.io/v1beta2")["components"]["schemas"]
    queue = schemas["io.x-k8s.kueue.v1beta2.Queue"]
    kind = {"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "Queue"}
    assert queue["x-kubernetes-group-version-kind"] == [kind]
    assert queue["properties"]["spec"]["properties"]["n"] == {"type": "integer"}
    assert schemas["io.x-k8s.kueue.v1beta2.QueueList"]["properties"]["items"]["type"] == "array"
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in schemas


def test_subresources_have_paths_and_kinds() -> None:
    core = document("api/v1")["paths"]
    eviction = core["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert eviction["x-kubernetes-group-version-kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert {p["name"] for p in core["/api/v1/namespaces/{namespace}/pods/{name}/log"]["get"]["parameters"]} >= {
        "follow"
    }
    scale = document("apis/apps/v1")["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]
    assert set(scale) == {"get", "patch", "put", "parameters"}


def test_reviews_can_only_be_created() -> None:
    (path,) = (one for one in document("apis/authorization.k8s.io/v1")["paths"] if "selfsubjectaccess" in one)
    assert set(document("apis/authorization.k8s.io/v1")["paths"][path]) == {"post", "parameters"}


def test_kind_and_version_are_any_text_in_a_published_schema() -> None:
    head = document("apis/batch/v1")["components"]["schemas"]["io.k8s.api.batch.v1.Job"]["properties"]
    assert head["kind"]["type"] == head["apiVersion"]["type"] == "string"
    assert "enum" not in head["kind"] | head["apiVersion"]


def test_a_custom_kind_has_the_head_that_all_kinds_have() -> None:
    head = document("apis/kueue.x-k8s.io/v1beta2")["components"]["schemas"]["io.x-k8s.kueue.v1beta2.Queue"][
        "properties"
    ]
    assert head["kind"]["description"].startswith("Kind is a string value representing the REST resource")
    assert head["metadata"]["description"].startswith("Standard object's metadata.")
    assert references(head["metadata"]) == {f"{PREFIX}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
