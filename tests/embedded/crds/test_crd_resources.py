"""A CustomResourceDefinition as the resources that the server serves."""

from embedded.crds.definitions import crd, version
from kohort.embedded.crds import default_crd, resources_of
from kohort.embedded.crds.resources import AGE, OBJECT_META
from kohort.embedded.resources import ScalePaths, TableColumn


def test_every_served_version_is_a_resource() -> None:
    versions = (version("v1"), version("v1beta1", storage=False), version("v1alpha1", storage=False, served=False))
    found = resources_of(crd(*versions))
    assert [(each.api_version, each.storage_version) for each in found] == [
        ("stable.example.com/v1", ""),
        ("stable.example.com/v1beta1", "v1"),
    ]
    assert {each.key for each in found} == {"shirts.stable.example.com"}


def test_names_follow_from_the_kind() -> None:
    (shirt,) = resources_of(crd(names={"shortNames": ["sh"], "categories": ["all"]}))
    assert (shirt.kind, shirt.singular, shirt.list_kind) == ("Shirt", "shirt", "ShirtList")
    assert (shirt.short_names, shirt.categories, shirt.namespaced) == (("sh",), ("all",), True)


def test_names_that_were_accepted_are_the_ones_served() -> None:
    accepted = {"plural": "shirts", "kind": "Shirt", "singular": "shirt", "listKind": "ShirtList"}
    definition = {**crd(names={"shortNames": ["po"]}), "status": {"acceptedNames": accepted}}
    assert resources_of(definition)[0].short_names == ()


def test_a_definition_without_columns_shows_the_age() -> None:
    assert resources_of(crd())[0].columns == (AGE,)


def test_columns_are_those_of_the_definition() -> None:
    shown = version(additionalPrinterColumns=[{"name": "Color", "type": "string", "jsonPath": ".spec.color"}])
    text = "Custom resource definition column (in JSONPath format): .spec.color"
    assert resources_of(crd(shown))[0].columns == (TableColumn("Color", description=text, path=".spec.color"),)


def test_status_and_scale_are_subresources_where_declared() -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    (shirt,) = resources_of(crd(version(subresources={"status": {}, "scale": paths})))
    assert [(each.name, each.kind, each.group) for each in shirt.subresources] == [
        ("status", "Shirt", ""),
        ("scale", "Scale", "autoscaling"),
    ]
    assert shirt.scale == ScalePaths(".spec.replicas", ".status.replicas")


def test_fields_can_be_selected_where_declared() -> None:
    (shirt,) = resources_of(crd(version(selectableFields=[{"jsonPath": ".spec.color"}])))
    assert set(shirt.selectable_fields) == {"metadata.name", "metadata.namespace", "spec.color"}


def test_the_schema_has_the_head_of_every_object() -> None:
    (shirt,) = resources_of(crd(), {OBJECT_META: {"type": "object", "properties": {"name": {"type": "string"}}}})
    assert shirt.schema is not None
    assert set(shirt.schema.properties) == {"apiVersion", "kind", "metadata", "spec"}
    assert "name" in shirt.schema.properties["metadata"].properties


def test_what_the_author_left_out_is_filled_in() -> None:
    webhook = {"clientConfig": {"service": {"name": "a", "namespace": "b"}}}
    filled = default_crd(crd(conversion={"strategy": "Webhook", "webhook": webhook}))
    assert filled["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443
    assert filled["status"]["storedVersions"] == ["v1"]
    assert default_crd(crd())["spec"]["conversion"] == {"strategy": "None"}
