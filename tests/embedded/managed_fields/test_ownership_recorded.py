"""Updates and applies leave the same owners, objects and refusals as Kubernetes' own libraries."""

import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from embedded.patches.recordings import cases, plain, schema
from kohort.embedded.managed_fields import EMPTY, FieldSet, apply, track_update
from kohort.kube.errors import StatusError

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def reset_of(case: dict[str, Any]) -> FieldSet:
    paths = [".".join(path) for version in case.get("reset", {}).values() for path in version]
    return FieldSet.of(*paths) if paths else EMPTY


def applied(case: dict[str, Any]) -> dict[str, Any]:
    return apply(
        case["live"],
        case["object"],
        case["manager"],
        case.get("force", False),
        schema(case["kind"], "apply"),
        case["object"]["apiVersion"],
        NOW,
        case.get("subresource", ""),
        reset_of(case),
    )


def version_of(case: dict[str, Any]) -> str:
    return str((case["live"] or case["object"])["apiVersion"])


def without_owners(obj: dict[str, Any]) -> Any:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
    return plain({**obj, "metadata": metadata})


@pytest.mark.parametrize("case", cases("update"))
def test_an_update_leaves_the_owners_that_the_real_server_leaves(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    tracked = track_update(
        case["live"],
        case["object"],
        case["manager"],
        "Update",
        case.get("subresource", ""),
        version_of(case),
        schema(case["kind"]),
        NOW,
        reset_of(case),
    )
    assert tracked["metadata"].get("managedFields", []) == case["result"]["managedFields"]
    assert case == before


@pytest.mark.parametrize("case", [case for case in cases("apply") if "error" not in case])
def test_an_apply_leaves_the_object_and_owners_that_the_real_server_leaves(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case)
    done = applied(case)
    assert done["metadata"].get("managedFields", []) == case["result"]["managedFields"]
    assert without_owners(done) == case["result"]["object"]
    assert case == before


@pytest.mark.parametrize("case", [case for case in cases("apply") if case.get("code") != 400 and "error" in case])
def test_an_apply_is_refused_in_the_real_servers_words(case: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as refused:
        applied(case)
    assert (refused.value.code, refused.value.message) == (case["code"], case["error"])


BUILT_IN_UPDATES = [case for case in cases("update") if case["kind"] != "T"]


@pytest.mark.parametrize("case", BUILT_IN_UPDATES)
def test_the_owners_of_built_in_kinds_are_the_same_to_the_byte(case: dict[str, Any]) -> None:
    tracked = track_update(
        case["live"],
        case["object"],
        case["manager"],
        "Update",
        case.get("subresource", ""),
        version_of(case),
        schema(case["kind"]),
        NOW,
    )
    found = [entry["fieldsV1"] for entry in tracked["metadata"].get("managedFields", [])]
    assert json.dumps(found) == json.dumps([entry["fieldsV1"] for entry in case["result"]["managedFields"]])
