"""Content types, malformed patches and bounds: the errors of a client, and what a patch may cost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.patches.recordings import schema
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.embedded.patches.json_patch import MAX_OPERATIONS
from kohort.embedded.patches.kinds import CUSTOM_RESOURCE_PATCHES
from kohort.kube.errors import StatusError

OBJECT = {"metadata": {"labels": {"a": "1"}}, "spec": {"list": [1, 2]}}
KEYS = st.sampled_from(["a", "b", "spec"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=3)


def refusal(kind: PatchKind, patch: Any) -> StatusError:
    with pytest.raises(StatusError) as refused:
        apply_patch(kind, OBJECT, patch, None)
    return refused.value


@pytest.mark.parametrize("kind", PatchKind)
def test_a_content_type_names_its_form_with_any_parameters(kind: PatchKind) -> None:
    assert PatchKind.from_content_type(f"{kind.value}; charset=utf-8") is kind


def test_custom_resources_take_no_strategic_patches_and_report_what_they_take() -> None:
    with pytest.raises(StatusError) as refused:
        PatchKind.from_content_type(PatchKind.STRATEGIC.value, CUSTOM_RESOURCE_PATCHES)
    assert refused.value.code == 415
    assert refused.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )


@pytest.mark.parametrize(
    ("kind", "patch", "message"),
    [
        (PatchKind.JSON, {"a": 1}, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (PatchKind.JSON, [5], "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            PatchKind.JSON,
            [{"op": 1}],
            "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (PatchKind.MERGE, [1], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (PatchKind.STRATEGIC, "x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ],
)
def test_a_patch_of_the_wrong_shape_is_a_bad_request(kind: PatchKind, patch: Any, message: str) -> None:
    refused = refusal(kind, patch)
    assert (refused.code, refused.message) == (400, f"error decoding patch: {message}")


def test_a_failed_test_is_unprocessable_and_reports_no_more() -> None:
    refused = refusal(PatchKind.JSON, [{"op": "test", "path": "/spec/list/0", "value": 2}])
    expected = (422, "Invalid", "the server rejected our request due to an error in our request")
    assert (refused.code, refused.reason, refused.message) == expected


def test_more_operations_than_allowed_are_refused() -> None:
    patch = [{"op": "test", "path": "/spec/list/0", "value": 1}]
    assert apply_patch(PatchKind.JSON, OBJECT, patch * MAX_OPERATIONS, None) == OBJECT
    refused = refusal(PatchKind.JSON, patch * (MAX_OPERATIONS + 1))
    assert refused.code == 413
    assert "The allowed maximum operations in a JSON patch is 10000, got 10001" in refused.message


def test_copies_of_copies_end_before_they_fill_the_memory() -> None:
    doubling = [{"op": "copy", "from": "/spec", "path": f"/spec/n{index}"} for index in range(40)]
    assert refusal(PatchKind.JSON, doubling).code == 422


def test_a_json_patch_that_leaves_no_object_is_refused() -> None:
    assert refusal(PatchKind.JSON, [{"op": "replace", "path": "", "value": [1]}]).code == 422


def test_a_merge_patch_takes_null_for_absent_in_lists_too() -> None:
    patched = apply_patch(PatchKind.MERGE, OBJECT, {"spec": {"list": [{"a": None, "b": 1}]}}, None)
    assert patched["spec"] == {"list": [{"b": 1}]}


def test_values_are_deleted_from_a_list_that_is_put_in_order() -> None:
    pod = {"metadata": {"finalizers": ["a", "b", "c"]}}
    order = {"$setElementOrder/finalizers": ["c", "z", "b"], "$deleteFromPrimitiveList/finalizers": ["a"]}
    patched = apply_patch(PatchKind.STRATEGIC, pod, {"metadata": {**order, "finalizers": ["z"]}}, schema("Pod"))
    assert patched == {"metadata": {"finalizers": ["c", "z", "b"]}}


def test_apply_is_no_patch_of_object_and_patch_alone() -> None:
    with pytest.raises(ValueError, match="managed_fields"):
        apply_patch(PatchKind.APPLY, OBJECT, {}, None)


@given(OBJECTS)
def test_the_empty_strategic_patch_changes_nothing(obj: dict[str, Any]) -> None:
    assert apply_patch(PatchKind.STRATEGIC, obj, {}, schema("Pod")) == obj


@given(OBJECTS, OBJECTS)
def test_a_strategic_patch_twice_is_a_strategic_patch_once(obj: dict[str, Any], patch: dict[str, Any]) -> None:
    once = apply_patch(PatchKind.STRATEGIC, obj, patch, None)
    assert apply_patch(PatchKind.STRATEGIC, once, patch, None) == once


@given(st.lists(st.dictionaries(st.sampled_from(["op", "path", "from", "value"]), JSON | st.just("/a"), max_size=4)))
def test_no_json_patch_breaks_the_server(patch: list[Any]) -> None:
    try:
        apply_patch(PatchKind.JSON, {"a": [1, {"b": 2}]}, patch, None)
    except StatusError as refused:
        assert refused.code in (400, 422)  # noqa: PT017  either end is fine, a traceback is not


@pytest.mark.parametrize("kind", [PatchKind.JSON, PatchKind.MERGE, PatchKind.STRATEGIC])
def test_a_patch_too_deep_to_walk_is_a_bad_request(kind: PatchKind) -> None:
    deep: Any = 1
    for _ in range(900):
        deep = {"a": deep}
    patch = [{"op": "test", "path": "", "value": deep}] if kind is PatchKind.JSON else deep
    with pytest.raises(StatusError, match="nested too deeply"):
        apply_patch(kind, deep, patch, None)
