"""Pod set infos in the components of an AppWrapper, from which its operator takes them (JOB-135)."""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.jobs.frameworks.appwrapper.components import ComponentPods, components
from kohort.jobs.podsets import PodSetInfo

_FIELD = "podSetInfos"


def write_infos(obj: JsonObject, found: Sequence[ComponentPods], infos: Sequence[PodSetInfo]) -> None:
    """Write one info for each of the pods, in place."""
    clear_infos(obj)
    for pods, info in zip(found, infos, strict=True):
        pods.component.setdefault(_FIELD, []).append(_as_json(info))


def clear_infos(obj: JsonObject) -> None:
    """Remove all infos, in place."""
    for component in components(obj):
        component.pop(_FIELD, None)


def written_info(pods: ComponentPods) -> PodSetInfo | None:
    """The info of these pods, if there is one."""
    written = pods.component.get(_FIELD) or ()
    return _info(written[pods.number]) if pods.number < len(written) else None


def _info(written: JsonObject) -> PodSetInfo:
    return PodSetInfo(
        name="",
        labels=written.get("labels") or {},
        annotations=written.get("annotations") or {},
        node_selector=written.get("nodeSelector") or {},
        tolerations=tuple(written.get("tolerations") or ()),
        scheduling_gates=tuple(each["name"] for each in written.get("schedulingGates") or ()),
    )


def _as_json(info: PodSetInfo) -> JsonObject:
    """The info without empty fields."""
    written: JsonObject = {
        "annotations": dict(info.annotations),
        "labels": dict(info.labels),
        "nodeSelector": dict(info.node_selector),
        "tolerations": [dict(each) for each in info.tolerations],
        "schedulingGates": [{"name": each} for each in info.scheduling_gates],
    }
    return {name: value for name, value in written.items() if value}
