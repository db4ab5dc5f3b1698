"""The CustomResourceDefinitions agree with the structs, in the form that API servers accept."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kit.golden.recordings import api_recording
from kohort.api.crds import WebhookService, definition, definitions, open_api
from kohort.api.kinds import all_kinds
from kohort.api.kueue import v1beta1, v1beta2
from kohort.api.kueue.group import GROUP
from kohort.api.schema import Schema, schema_of
from kohort.api.structural import default, validate

Json = Any

ALL = definitions(WebhookService())
BY_PLURAL = {crd["spec"]["names"]["plural"]: crd for crd in ALL}
VERSIONS = ("v1beta2", "v1beta1")
GOLDEN_STEPS = api_recording("printer-columns")[0]["steps"]
COLUMN_STEPS = [step for step in GOLDEN_STEPS if step.get("columns")]
DISCOVERED = next(step["resources"] for step in GOLDEN_STEPS if step["op"] == "discovery")

CONVERTED = {"ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster", "Workload"}
KUBECTL_ANNOTATION_LIMIT = 262_144


def version_of(crd: Json, name: str) -> Json:
    return next(version for version in crd["spec"]["versions"] if version["name"] == name)


def schema_in(plural: str, version: str) -> Json:
    return version_of(BY_PLURAL[plural], version)["schema"]["openAPIV3Schema"]


def shown_columns(version: Json, *, wide: bool) -> list[str]:
    """The headers that kubectl prints: those of priority 0, and all with `-o wide`."""
    columns = version.get("additionalPrinterColumns") or [{"name": "Age"}]
    return ["NAME", *(column["name"].upper() for column in columns if wide or not column.get("priority"))]


def nodes(schema: Json) -> Iterator[Json]:
    yield schema
    for below in schema.get("properties", {}).values():
        yield from nodes(below)
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name])


ROOTS = [
    pytest.param(schema_in(plural, version), id=f"{version}-{plural}") for plural in BY_PLURAL for version in VERSIONS
]


# Names, columns, versions


@pytest.mark.parametrize("step", COLUMN_STEPS, ids=lambda step: f"{step['version']}-{step['resource']}-{step['wide']}")
def test_kubectl_shows_the_columns_of_a_real_cluster(step: Json) -> None:
    """API-10"""
    version = version_of(BY_PLURAL[step["resource"]], step["version"])
    assert shown_columns(version, wide=step["wide"]) == step["columns"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_priority_class_shows_its_value_and_no_age(version: str) -> None:
    """API-10: the transcript has no such object, so its columns are taken from the specification."""
    assert shown_columns(version_of(BY_PLURAL["workloadpriorityclasses"], version), wide=False) == ["NAME", "VALUE"]


def discovered(crd: Json) -> Iterator[Json]:
    names, namespaced = crd["spec"]["names"], crd["spec"]["scope"] == "Namespaced"
    common = {"namespaced": namespaced, "kind": names["kind"]}
    yield {"name": names["plural"], "singularName": names["singular"], "shortNames": names["shortNames"], **common}
    if "subresources" in version_of(crd, "v1beta2"):
        yield {"name": f"{names['plural']}/status", "singularName": "", **common}


def test_discovery_equals_that_of_a_real_cluster() -> None:
    """API-1, API-10: names, short names, scope and status of every kind."""
    assert [resource for crd in ALL for resource in discovered(crd)] == DISCOVERED


def test_no_kind_declares_categories() -> None:
    """API-10"""
    assert [crd for crd in ALL if "categories" in crd["spec"]["names"]] == []


@pytest.mark.parametrize("crd", ALL, ids=lambda crd: crd["metadata"]["name"])
def test_both_versions_are_served_and_v1beta2_is_stored(crd: Json) -> None:
    """API-1"""
    reported = [(version["name"], version["served"], version["storage"]) for version in crd["spec"]["versions"]]
    assert reported == [("v1beta2", True, True), ("v1beta1", True, False)]


def test_v1beta1_is_deprecated_for_all_but_multikueueconfig() -> None:
    """API-2"""
    warned = {crd["spec"]["names"]["kind"]: version_of(crd, "v1beta1").get("deprecationWarning") for crd in ALL}
    assert warned.pop("MultiKueueConfig") is None
    assert all("use kueue.x-k8s.io/v1beta2" in warning for warning in warned.values())
    assert [crd for crd in ALL if version_of(crd, "v1beta2").get("deprecated")] == []


def test_a_workload_can_be_selected_by_its_cluster_queue() -> None:
    """API-11"""
    selectable = {
        (crd["spec"]["names"]["kind"], version["name"]): version["selectableFields"]
        for crd in ALL
        for version in crd["spec"]["versions"]
        if "selectableFields" in version
    }
    assert selectable == {("Workload", "v1beta2"): [{"jsonPath": ".status.admission.clusterQueue"}]}


def test_definitions_are_sorted_and_named_after_plural_and_group() -> None:
    names = [crd["metadata"]["name"] for crd in ALL]
    assert names == sorted(f"{kind.info.resource.plural}.{GROUP}" for kind in all_kinds(GROUP) if kind.info.is_storage)


# Conversion


def test_only_kinds_that_differ_are_converted_by_the_webhook() -> None:
    """API-72"""
    strategies = {crd["spec"]["names"]["kind"]: crd["spec"]["conversion"]["strategy"] for crd in ALL}
    assert {kind for kind, strategy in strategies.items() if strategy == "Webhook"} == CONVERTED
    assert {strategy for kind, strategy in strategies.items() if kind not in CONVERTED} == {"None"}


def client_config(service: WebhookService) -> Json:
    crd = definition([v1beta2.Cohort, v1beta1.Cohort], service)
    return crd["spec"]["conversion"]["webhook"]["clientConfig"]


def test_the_webhook_is_where_kueues_configuration_puts_it() -> None:
    service = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": "/convert"}
    assert client_config(WebhookService()) == {"service": service}


def test_namespace_name_and_certificate_authority_can_be_given() -> None:
    reported = client_config(WebhookService(namespace="here", name="hooks", ca_bundle=b"-----BEGIN"))
    assert reported["service"] == {"namespace": "here", "name": "hooks", "path": "/convert"}
    assert base64.b64decode(reported["caBundle"]) == b"-----BEGIN"


# Schemas


@pytest.mark.parametrize("root", ROOTS)
def test_schemas_are_structural(root: Json) -> None:
    """API-3: each node declares its type, or that it is open, or that it is a number or a text."""
    untyped = [node for node in nodes(root) if "type" not in node]
    assert all(
        node.get("x-kubernetes-int-or-string") or node.get("x-kubernetes-preserve-unknown-fields") for node in untyped
    )


@pytest.mark.parametrize("root", ROOTS)
def test_keys_of_lists_are_required_or_have_a_default(root: Json) -> None:
    """API-5: otherwise an API server refuses the definition."""
    for node in nodes(root):
        for key in node.get("x-kubernetes-list-map-keys", ()):
            items = node["items"]
            assert key in items.get("required", ()) or "default" in items["properties"][key]


@pytest.mark.parametrize("root", ROOTS)
def test_the_root_leaves_metadata_to_the_api_server(root: Json) -> None:
    assert root["properties"]["metadata"] == {"type": "object"}


@pytest.mark.parametrize("root", ROOTS)
def test_spec_and_status_are_optional(root: Json) -> None:
    """API-12"""
    assert root.get("required", []) == (["value"] if "value" in root["properties"] else [])


@pytest.mark.parametrize("kind", all_kinds(GROUP), ids=lambda kind: f"{kind.info.resource.version}-{kind.__name__}")
def test_every_default_is_valid(kind: type) -> None:
    assert [path for path, node in defaulted(schema_of(kind), "") if validate(default(node.default, node), node)] == []


def defaulted(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    if schema.has_default:
        yield path, schema
    for name, node in schema.properties.items():
        yield from defaulted(node, f"{path}.{name}")
    if schema.items:
        yield from defaulted(schema.items, f"{path}[]")


def test_a_quantity_is_a_number_or_a_text() -> None:
    group = schema_in("cohorts", "v1beta2")["properties"]["spec"]["properties"]["resourceGroups"]["items"]
    quota = group["properties"]["flavors"]["items"]["properties"]["resources"]["items"]["properties"]["nominalQuota"]
    assert quota["x-kubernetes-int-or-string"] is True
    assert quota["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert quota["pattern"].startswith("^(\\+|-)?")


def test_a_field_carries_its_limits_default_and_words() -> None:
    spec = schema_in("clusterqueues", "v1beta2")["properties"]["spec"]["properties"]
    assert spec["stopPolicy"] == {
        "description": "Hold stops admission; HoldAndDrain also evicts admitted workloads.",
        "type": "string",
        "enum": ["None", "Hold", "HoldAndDrain"],
        "default": "None",
    }
    assert spec["preemption"]["default"] == {}
    assert spec["namespaceSelector"]["x-kubernetes-map-type"] == "atomic"
    assert (spec["resourceGroups"]["maxItems"], spec["resourceGroups"]["x-kubernetes-list-type"]) == (16, "atomic")


def test_a_list_of_named_items_is_merged_by_name() -> None:
    """API-5"""
    flavors = schema_in("cohorts", "v1beta2")["properties"]["spec"]["properties"]["resourceGroups"]["items"]
    reported = flavors["properties"]["flavors"]
    assert (reported["x-kubernetes-list-type"], reported["x-kubernetes-list-map-keys"]) == ("map", ["name"])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_inside_of_a_pod_template_stays_open(version: str) -> None:
    """API-3, as in docs/deviations.md: nothing unknown in a template is dropped."""
    pod_set = schema_in("workloads", version)["properties"]["spec"]["properties"]["podSets"]["items"]
    template = pod_set["properties"]["template"]
    assert all(
        node.get("x-kubernetes-preserve-unknown-fields")
        for node in (template, template["properties"]["spec"], template["properties"]["metadata"])
    )


@pytest.mark.parametrize("kind", all_kinds(GROUP), ids=lambda kind: f"{kind.info.resource.version}-{kind.__name__}")
def test_every_rule_is_carried_with_its_message(kind: type) -> None:
    carried = [rule for node in nodes(open_api(schema_of(kind))) for rule in node.get("x-kubernetes-validations", ())]
    assert carried == [{"rule": rule.cel, "message": rule.message} for rule in rules_of(schema_of(kind))]


def rules_of(schema: Schema) -> Iterator[Any]:
    yield from schema.rules
    for node in (*schema.properties.values(), schema.items, schema.additional):
        if node is not None:
            yield from rules_of(node)


@pytest.mark.parametrize("root", ROOTS)
def test_descriptions_name_no_rule_numbers(root: Json) -> None:
    """Users of `kubectl explain` have no specification at hand."""
    assert [node["description"] for node in nodes(root) if "API-" in node.get("description", "")] == []


@pytest.mark.parametrize("crd", ALL, ids=lambda crd: crd["metadata"]["name"])
def test_a_definition_fits_into_the_annotation_that_kubectl_apply_writes(crd: Json) -> None:
    assert len(json.dumps(crd)) < KUBECTL_ANNOTATION_LIMIT
