"""Applies any patch except server-side apply, which needs managed fields."""

from kohort.api.codec import Json, without_nulls
from kohort.api.merge import merge
from kohort.embedded.openapi import SchemaNode
from kohort.embedded.patches.depth import limiting_depth
from kohort.embedded.patches.failures import not_decoded, unprocessable
from kohort.embedded.patches.json_patch import apply_json_patch
from kohort.embedded.patches.kinds import PatchKind
from kohort.embedded.patches.strategic import apply_strategic_patch


@limiting_depth
def apply_patch(kind: PatchKind, obj: dict[str, Json], patch: Json, node: SchemaNode | None) -> dict[str, Json]:
    """The patched object; `node` is its schema, used by strategic merge patches."""
    result = _patched(kind, obj, patch, node)
    if not isinstance(result, dict):
        raise unprocessable()
    return result


def _patched(kind: PatchKind, obj: dict[str, Json], patch: Json, node: SchemaNode | None) -> Json:
    if kind is PatchKind.JSON:
        return apply_json_patch(obj, patch)
    if kind is PatchKind.APPLY:
        raise ValueError(
            "server-side apply is not a function of object and patch alone: see kohort.embedded.managed_fields"
        )
    if patch is not None and not isinstance(patch, dict):
        raise not_decoded(patch, "Go value of type map[string]interface {}")
    if kind is PatchKind.MERGE:
        return merge(obj, _without_nulls_in_lists(patch or {}))
    return apply_strategic_patch(obj, patch or {}, node)


def _without_nulls_in_lists(patch: Json) -> Json:
    """A merge patch replaces lists as a whole; null members of their objects are dropped, as in kube-apiserver."""
    if isinstance(patch, list):
        return [without_nulls(item) for item in patch]
    if isinstance(patch, dict):
        return {name: _without_nulls_in_lists(value) for name, value in patch.items()}
    return patch
