"""Patches give what Kubernetes' own libraries give for the same object and patch."""

import copy
from typing import Any

import pytest

from embedded.patches.recordings import cases, plain, schema
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.kube.errors import StatusError


@pytest.mark.parametrize("case", cases("json"))
def test_a_json_patch_has_the_result_of_the_real_server(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["object"])
    if "error" in case:
        with pytest.raises(StatusError) as refused:
            apply_patch(PatchKind.JSON, case["object"], case["patch"], None)
        assert refused.value.code == case["code"]
    else:
        assert apply_patch(PatchKind.JSON, case["object"], case["patch"], None) == case["result"]
    assert case["object"] == before


@pytest.mark.parametrize("case", cases("strategic"))
def test_a_strategic_patch_has_the_result_of_the_real_server(case: dict[str, Any]) -> None:
    before = copy.deepcopy(case["object"])
    node = schema(case["kind"])
    if "error" in case:
        with pytest.raises(StatusError) as refused:
            apply_patch(PatchKind.STRATEGIC, case["object"], case["patch"], node)
        assert refused.value.code == case["code"]
        # The server keeps the reason of a 422 to itself.
        assert refused.value.code == 422 or refused.value.message == case["error"]
    else:
        assert plain(apply_patch(PatchKind.STRATEGIC, case["object"], case["patch"], node)) == case["result"]
    assert case["object"] == before
