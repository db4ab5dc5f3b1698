"""Runtime patches of a TrainJob: changes of its runtime, of which Kohort's entry has the pod set infos (JOB-138)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.jobs.podsets import PodSetInfo

MANAGER: Final = "kueue.x-k8s.io/manager"
"""Manager of the entry, as in Kueue."""
_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
}
"""Lists of which items are merged, by the member that identifies an item; other lists are replaced."""


def job_patches(obj: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The patches of the templates of replicated jobs by their names, in order; Trainer ignores unknown names."""
    for each in (obj.get("spec") or {}).get("runtimePatches") or ():
        spec = ((each.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
        for replicated in spec.get("replicatedJobs") or ():
            yield replicated.get("name") or "", replicated.get("template") or {}


def with_patch(value: JsonObject, patch: JsonObject) -> JsonObject:
    """A value with a strategic merge patch applied, as Kubeflow Trainer does; the value is not changed."""
    merged = dict(value)
    for name, change in patch.items():
        present = merged.get(name)
        if isinstance(present, dict) and isinstance(change, dict):
            merged[name] = with_patch(present, change)
        elif isinstance(present, list) and name in _KEYS:
            merged[name] = _with_items(present, change, _KEYS[name])
        else:
            merged[name] = change
    return merged


def _with_items(present: Sequence[JsonObject], changes: Sequence[JsonObject], key: str) -> list[JsonObject]:
    by_key = {each.get(key): each for each in present}
    for change in changes:
        item = by_key.get(change.get(key))
        by_key[change.get(key)] = change if item is None else with_patch(item, change)
    return list(by_key.values())


def own_patch(obj: JsonObject) -> JsonObject:
    """The entry for pod set infos; empty if there is none."""
    entries = (obj.get("spec") or {}).get("runtimePatches") or ()
    return next((each for each in entries if each.get("manager") == MANAGER), {})


def replicated_patches(obj: JsonObject) -> list[JsonObject]:
    """The patches of replicated jobs in the entry."""
    template = (own_patch(obj).get("trainingRuntimeSpec") or {}).get("template") or {}
    found: list[JsonObject] = (template.get("spec") or {}).get("replicatedJobs") or []
    return found


def pod_template_patch(replicated: JsonObject) -> JsonObject:
    """The patch of the pod template in that of a replicated job."""
    found: JsonObject = ((replicated.get("template") or {}).get("spec") or {}).get("template") or {}
    return found


def set_own_patch(obj: JsonObject, infos: Sequence[PodSetInfo] = ()) -> None:
    """Write pod set infos into the entry, which is added if it is missing; without infos it is emptied."""
    spec = {"replicatedJobs": [_replicated_patch(each) for each in infos]} if infos else {}
    runtime_spec = {"template": {"spec": spec}}
    entries = obj["spec"].get("runtimePatches") or []
    own = own_patch(obj)
    if own:
        own["trainingRuntimeSpec"] = runtime_spec
    else:
        obj["spec"]["runtimePatches"] = [*entries, {"manager": MANAGER, "trainingRuntimeSpec": runtime_spec}]


def _replicated_patch(info: PodSetInfo) -> JsonObject:
    metadata = {"labels": dict(info.labels), "annotations": dict(info.annotations)}
    spec = {
        "nodeSelector": dict(info.node_selector),
        "tolerations": [dict(each) for each in info.tolerations],
        "schedulingGates": [{"name": each} for each in info.scheduling_gates],
    }
    template = {"metadata": _without_empty(metadata), "spec": _without_empty(spec)}
    return {"name": info.name, "template": {"spec": {"template": _without_empty(template)}}}


def _without_empty(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}
