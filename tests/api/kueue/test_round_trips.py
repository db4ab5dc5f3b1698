"""Laws of decoding and conversion, over objects drawn from the schemas."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.schema_strategies import json_for
from kohort.api.codec import decode, encode, from_json, to_json
from kohort.api.kinds import CustomObject, all_kinds
from kohort.api.kueue.conversion import V1BETA1, V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.quotas import canonical_quotas
from kohort.api.schema import schema_of
from kohort.api.structural import default, prune
from kohort.api.times import format_time, parse_time

Json = Any
KINDS = all_kinds(GROUP)
OLD_KINDS = [kind for kind in KINDS if kind.info.resource.version == "v1beta1"]


def name_of(kind: type[CustomObject]) -> str:
    return f"{kind.info.resource.kind}-{kind.info.resource.version}"


def drawn(data: st.DataObject, kind: type[CustomObject]) -> Json:
    resource = kind.info.resource
    value = data.draw(json_for(schema_of(kind)))
    return {**value, "apiVersion": resource.api_version, "kind": resource.kind}


def meaning(value: Json) -> Json:
    """The value with times in one form, and without nulls, empty texts, lists and maps, which mean absence."""
    if isinstance(value, list):
        return [meaning(item) for item in value]
    if isinstance(value, dict):
        members = {name: _time(name, meaning(member)) for name, member in value.items()}
        return {name: member for name, member in members.items() if member not in ([], {}, None, "")}
    return value


def _time(name: str, value: Json) -> Json:
    times = ("Time", "timeAdded", "requeueAt", "lastUpdate")
    return format_time(parse_time(value)) if name.endswith(times) and isinstance(value, str) else value


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@given(data=st.data())
def test_decoding_what_was_encoded_results_in_the_same_object(kind: type[CustomObject], data: st.DataObject) -> None:
    thing = from_json(drawn(data, kind), kind)
    again = decode(encode(thing), kind)
    assert to_json(again) == to_json(thing)


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
@given(data=st.data())
def test_encoding_what_was_decoded_loses_nothing(kind: type[CustomObject], data: st.DataObject) -> None:
    """What equals a default is left out on the way and means the same when it is filled in again."""
    schema = schema_of(kind)
    value = drawn(data, kind)
    assert meaning(default(to_json(from_json(value, kind)), schema)) == meaning(
        default(prune(value, schema)[0], schema)
    )


LOST = {
    "ClusterQueue": (
        "spec.admissionChecks",
        "spec.admissionChecksStrategy",
        "status.pendingWorkloadsStatus",
        "status.fairSharing",
    ),
    "Cohort": ("status.fairSharing",),
    "LocalQueue": ("status.flavors",),
    "AdmissionCheck": ("spec.retryDelayMinutes",),
    "Workload": ("spec.priorityClassName", "spec.priorityClassSource", "status.admission"),
    "MultiKueueCluster": ("spec.kubeConfig",),
}
"""Members that the way through v1beta2 may change or drop, by API-73 and its prose."""


def without(value: Json, paths: tuple[str, ...]) -> Json:
    kept = {section: dict(value.get(section) or {}) for section in ("spec", "status")}
    for path in paths:
        section, _, member = path.partition(".")
        kept[section].pop(member, None)
    return meaning(kept)


@pytest.mark.parametrize("kind", OLD_KINDS, ids=name_of)
@given(data=st.data())
def test_the_conversion_through_v1beta2_loses_only_what_the_table_specifies(
    kind: type[CustomObject], data: st.DataObject
) -> None:
    """API-73."""
    resource = kind.info.resource
    start = _with_new_names(drawn(data, kind))
    there = convert(start, V1BETA2)
    back = convert(there, V1BETA1)
    lost = LOST.get(resource.kind, ())
    assert without(_zeroed(back), lost) == without(_zeroed(convert(_canonical(start), V1BETA1)), lost)
    assert convert(back, V1BETA2) == there, "a second way changes nothing more"


def _with_new_names(value: Json) -> Json:
    """Old names of enum values come back as the new ones, and a domain has a value for every level."""
    fungibility = value.get("spec", {}).get("flavorFungibility", {})
    for name, member in fungibility.items():
        if member in ("Borrow", "Preempt"):
            fungibility[name] = "MayStopSearch"
    assignments = value.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    for assignment in assignments:
        topology = assignment.get("topologyAssignment", {})
        for domain in topology.get("domains", ()):
            domain["values"] = [f"v{level}" for level in range(len(topology["levels"]))]
    return value


def _canonical(value: Json) -> Json:
    """Quotas in the form that conversion gives them."""
    spec = value.get("spec")
    return {**value, "spec": canonical_quotas(spec)} if spec and value["kind"] != "Workload" else value


def _zeroed(value: Json) -> Json:
    """Without the counters that conversion shows as 0."""
    status = value.get("status") or {}
    counters = ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
    return {**value, "status": {name: each for name, each in status.items() if name not in counters or each}}
