"""Which CustomResourceDefinitions are accepted, and the messages of rejections."""

from typing import Any

import pytest

from embedded.crds.definitions import crd, version
from kohort.api.crds import WebhookService, definitions
from kohort.embedded.crds import default_crd, establish, validate_crd

Json = Any
TEXT = {"type": "string"}


def problems(definition: Json, old: Json = None) -> list[str]:
    return [str(error) for error in validate_crd(default_crd(definition), old)]


def schema_problems(**spec: Json) -> list[str]:
    """Problems of a schema for `spec`, with the way to it cut off."""
    prefix = "spec.validation.openAPIV3Schema.properties[spec]"
    return [text.removeprefix(prefix) for text in problems(crd(version(spec=spec)))]


def obj(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def test_an_ordinary_definition_is_accepted() -> None:
    assert problems(crd()) == []


def test_our_own_definitions_are_accepted() -> None:
    assert [text for definition in definitions(WebhookService()) for text in problems(definition)] == []


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (
            {**crd(), "metadata": {"name": "x"}},
            'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group',
        ),
        (crd(group="example"), 'spec.group: Invalid value: "example": should be a domain with at least one dot'),
        (crd(scope="World"), 'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'),
        (crd(names={"listKind": "Shirt"}), "kind and listKind may not be the same"),
        (crd(names={"shortNames": ["Big"]}), "spec.names.shortNames[0]: Invalid value"),
        (crd(version("v1"), version("v1", storage=False)), "must contain unique version names"),
        (crd(version("v1"), version("v2")), "must have exactly one version marked as storage version"),
        (crd(version("V1")), 'spec.versions[0].name: Invalid value: "V1"'),
        (crd(version(schema=None)), "spec.versions[0].schema.openAPIV3Schema: Required value"),
        (crd(version(deprecationWarning="old")), "can only be set for deprecated versions"),
        (crd(preserveUnknownFields=True), "spec.preserveUnknownFields: Invalid value: true: cannot set to true"),
        (crd(conversion={"strategy": "Magic"}), 'supported values: "None", "Webhook"'),
        (crd(conversion={"strategy": "Webhook"}), "spec.conversion.webhook.clientConfig: Required value"),
        (crd(conversion={"strategy": "None", "webhook": {}}), "spec.conversion.webhook: Forbidden"),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(definition: Json, expected: str) -> None:
    assert any(expected in text for text in problems(definition)), problems(definition)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"additionalPrinterColumns": [{"name": "C", "type": "color", "jsonPath": ".spec.c"}]},
            "must be one of boolean,date",
        ),
        ({"additionalPrinterColumns": [{"name": "C", "type": "string"}]}, "jsonPath: Required value"),
        ({"additionalPrinterColumns": [{"name": "C", "type": "string", "jsonPath": "spec"}]}, "starting with ."),
        ({"subresources": {"scale": {}}}, "scale.specReplicasPath: Required value"),
        (
            {"subresources": {"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ".status.n"}}},
            "should be a json path under .spec",
        ),
        (
            {"selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.color"}]},
            "[1].jsonPath: Duplicate value",
        ),
        ({"selectableFields": [{"jsonPath": ".spec.size"}]}, "does not refer to a valid field"),
        ({"selectableFields": [{"jsonPath": ".spec"}]}, "must point to a field of type string, boolean or integer"),
        ({"selectableFields": [{"jsonPath": ".metadata.name"}]}, "must not point to fields in metadata"),
    ],
)
def test_columns_subresources_and_selectable_fields_are_checked(fields: Json, expected: str) -> None:
    found = problems(crd(version(spec=obj(color=TEXT), **fields)))
    assert len(found) >= 1
    assert all(text.startswith("spec.versions[0].") for text in found)
    assert any(expected in text for text in found), found


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (obj(a={}), ".properties[a].type: Required value: must not be empty for specified object fields"),
        (obj(a={"type": "array"}), ".properties[a].items: Required value: must be specified"),
        (
            obj(a={"type": "array", "items": {}}),
            ".properties[a].items.type: Required value: must not be empty for specified",
        ),
        (obj(a={"type": "text"}), '.properties[a].type: Unsupported value: "text"'),
        (obj(a={"$ref": "#/x", **TEXT}), ".properties[a].$ref: Forbidden: $ref is not supported"),
        ({**obj(a=TEXT), "additionalProperties": TEXT}, ".additionalProperties: Forbidden: additionalProperties and"),
        (
            {**obj(a=TEXT), "oneOf": [{"properties": {"b": {}}}]},
            ".properties[b]: Required value: because it is defined in",
        ),
        ({**obj(a=TEXT), "anyOf": [{"type": "object"}]}, ".anyOf[0].type: Forbidden: must be empty to be structural"),
        ({**obj(a=TEXT), "not": {"nullable": True}}, ".not.nullable: Forbidden: must be false to be structural"),
        (obj(a={**TEXT, "pattern": "("}), ".properties[a].pattern: Invalid value"),
        (obj(a={"type": "array", "items": TEXT, "uniqueItems": True}), "uniqueItems cannot be set to true"),
        (obj(a={**TEXT, "x-kubernetes-list-type": "set"}), "must be array if x-kubernetes-list-type is specified"),
        (obj(a={**TEXT, "default": 1}), ".properties[a].default: "),
        (
            obj(a={**obj(b=TEXT), "default": {"c": 1}}),
            '.properties[a].default: Invalid value: {"c":1}: must not have unknown',
        ),
        (
            obj(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            "must not be empty if x-kubernetes-embedded",
        ),
        ({"x-kubernetes-preserve-unknown-fields": False, **obj(a=TEXT)}, "must be true or undefined"),
    ],
)
def test_schemas_must_be_structural(schema: Json, expected: str) -> None:
    assert any(expected in text for text in schema_problems(**schema)), schema_problems(**schema)


KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ({**obj(name=TEXT), "required": ["name"]}, None),
        (obj(name={**TEXT, "default": "x"}), None),
        (obj(name=TEXT), "so it must have a default or be a required property"),
        (obj(other=TEXT), "entries must all be names of item properties"),
        ({**obj(name=obj()), "required": ["name"]}, "must be a scalar type"),
        (TEXT, "must be object if parent array's x-kubernetes-list-type is map"),
    ],
)
def test_the_keys_of_a_list_are_scalars_that_every_item_has(items: Json, expected: str | None) -> None:
    found = schema_problems(**obj(a={**KEYED, "items": items}))
    assert (found == []) if expected is None else any(expected in text for text in found), found


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "self.a != ''"}, None),
        (
            {"rule": "self.a == oldSelf.a", "message": "is fixed", "fieldPath": ".a", "reason": "FieldValueForbidden"},
            None,
        ),
        ({"rule": ""}, "rule is not specified"),
        ({"rule": "self.a =="}, "compilation failed: ERROR: <input>:1:10: Syntax error"),
        ({"rule": "self.a == b"}, "undeclared reference to 'b'"),
        ({"rule": "self.b > 1"}, "compilation failed: ERROR: <input>:1:5: undefined field 'b'"),
        ({"rule": "has(oldSelf.b)"}, "undefined field 'b'"),
        ({"rule": "self.a.b.c == 1"}, None),
        ({"rule": "[{'b': 1}].all(self, self.b == 1)"}, None),
        ({"rule": "true", "messageExpression": "missing"}, ".messageExpression: Invalid value"),
        ({"rule": "true", "message": "a\nb"}, "must not contain line breaks"),
        ({"rule": "true", "reason": "Mood"}, 'reason: Unsupported value: "Mood"'),
        ({"rule": "true", "fieldPath": ".b"}, "does not refer to a valid field"),
        ({"rule": "true", "optionalOldSelf": True}, "may not be set if oldSelf is not used in rule"),
    ],
)
def test_rules_must_compile(rule: Json, expected: str | None) -> None:
    found = schema_problems(**obj(a=TEXT), **{"x-kubernetes-validations": [rule]})
    assert (found == []) if expected is None else any(expected in text for text in found), found


def test_rules_can_use_members_of_maps_heads_and_renamed_properties() -> None:
    schema = obj(m={"type": "object", "additionalProperties": obj(x=TEXT)}, **{"a-b": TEXT})
    rules = [{"rule": "self.m.any.x == self.a__dash__b"}]
    assert schema_problems(**schema, **{"x-kubernetes-validations": rules}) == []
    root = {
        "type": "object",
        "properties": {"spec": obj()},
        "x-kubernetes-validations": [{"rule": "self.metadata.name != self.kind"}],
    }
    assert problems(crd(version(schema={"openAPIV3Schema": root}))) == []


def test_a_rule_may_read_a_former_item_only_where_items_have_an_identity() -> None:
    item = {**obj(name=TEXT), "required": ["name"], "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    assert schema_problems(**obj(a={**KEYED, "items": item})) == []
    found = schema_problems(**obj(a={"type": "array", "items": item}))
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema" in found[0]


def test_versions_with_schemas_of_their_own_are_named() -> None:
    found = problems(crd(version("v1", spec=obj(a={})), version("v2", spec=obj(b={}), storage=False)))
    assert [text.partition(".properties")[0] for text in found] == [
        "spec.versions[0].schema.openAPIV3Schema",
        "spec.versions[1].schema.openAPIV3Schema",
    ]


# Changes

NOW = "2026-01-31T12:00:00Z"


def served(definition: Json, *others: Json) -> Json:
    filled = default_crd(definition)
    return {**filled, "status": establish(filled, others, NOW)}


def test_scope_and_kind_of_a_served_definition_stay() -> None:
    found = problems(crd(scope="Cluster", names={"kind": "Blouse"}), served(crd()))
    assert [text.partition(":")[0] for text in found] == ["spec.scope", "spec.names.kind"]
    assert all("field is immutable" in text for text in found)


def test_a_version_with_stored_objects_stays() -> None:
    old = served(crd(version("v1"), version("v2", storage=False)))
    new = {**crd(version("v2")), "status": old["status"]}
    assert "v1 was previously a storage version" in problems(new, old)[0]


# Names


def conditions(definition: Json) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in definition["status"]["conditions"]}


def test_a_definition_alone_gets_its_names() -> None:
    made = served(crd(names={"shortNames": ["sh"]}))
    assert conditions(made) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert made["status"]["acceptedNames"] == {
        "plural": "shirts",
        "singular": "shirt",
        "kind": "Shirt",
        "listKind": "ShirtList",
        "shortNames": ["sh"],
    }
    assert made["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ({"singular": "shirt"}, "SingularConflict"),
        ({"kind": "Shirt", "listKind": "Blouses"}, "KindConflict"),
        ({"shortNames": ["shirts"]}, "ShortNamesConflict"),
    ],
)
def test_names_that_another_definition_of_the_group_has_are_refused(names: Json, reason: str) -> None:
    made = served(crd(plural="blouses", names=names), served(crd()))
    assert conditions(made) == {"NamesAccepted": ("False", reason), "Established": ("False", "NotAccepted")}
    assert "is already in use" in made["status"]["conditions"][0]["message"]


def test_names_in_other_groups_are_free() -> None:
    made = served(crd(group="other.example.com"), served(crd()))
    assert conditions(made)["NamesAccepted"][0] == "True"


def test_a_served_definition_stays_served_and_its_conditions_keep_their_time() -> None:
    first = served(crd())
    wanting = {**first, "spec": {**first["spec"], "names": {**first["spec"]["names"], "shortNames": ["blouses"]}}}
    later = establish(wanting, [served(crd(plural="blouses"))], "later")
    assert {each["type"]: (each["status"], each["lastTransitionTime"]) for each in later["conditions"]} == {
        "NamesAccepted": ("False", "later"),
        "Established": ("True", NOW),
    }


def test_a_new_storage_version_is_recorded_together_with_the_old() -> None:
    old = served(crd())
    new = {**crd(version("v1", storage=False), version("v2")), "status": old["status"]}
    assert establish(new, [], NOW)["storedVersions"] == ["v1", "v2"]


def test_groups_of_kubernetes_need_approval() -> None:
    assert conditions(served(crd(group="apps.k8s.io")))["KubernetesAPIApprovalPolicyConformant"] == (
        "False",
        "MissingAnnotation",
    )
