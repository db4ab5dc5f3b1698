"""Lifecycles of pods, pod groups and serving kinds, pass by pass, as recorded from the real Kueue (GS-31 to GS-34)."""

import json
from typing import Any

import pytest

from jobs.golden_jobs import events_of, without_empty
from jobs.pass_harness import PassResult
from jobs.pod_flows import ReplayedPass, replay_flow
from kit.golden.recordings import job_recording

Json = Any

DIFFERENT = {"LeaderWorkerSet: pod without a known StatefulSet is ungated"}
"""That pod names no owner at all: it is queued on its own (DEV-9)."""
RECORDED = [*job_recording("pod")["flows"], *job_recording("serving")]
FLOWS = [flow for flow in RECORDED if flow["name"] not in DIFFERENT]

RESIZED: Json = {"StatefulSet: to zero and back": [{"count": 4, "name": "main"}]}
"""Where the Workload follows the new size, which upstream omits (DEV-5)."""


def in_no_order(values: list[Json]) -> list[Json]:
    return sorted(values, key=lambda value: json.dumps(value, sort_keys=True))


def patched(step: ReplayedPass) -> list[Json]:
    """The recorded events, without a repeated FinishedWorkload (Q-3)."""
    events = events_of(step.recorded["observed"])
    return [event for event in events if not (step.is_repeated and event[1] == "FinishedWorkload")]


def recorded_writes(step: ReplayedPass) -> list[Json]:
    """What was sent, without empty patches (JOB-54); of Workloads only which part, as their state is compared too."""
    writes = [each for each in step.recorded["observed"]["writes"] if each.get("patch") != {}]
    return [_write(each["verb"], each["kind"], each.get("subresource", ""), each.get("patch")) for each in writes]


def sent(seen: PassResult) -> list[Json]:
    return [_write(*write) for write in seen.writes]


def _write(verb: str, kind: str, subresource: str, patch: Json) -> Json:
    is_change = verb in ("patch", "apply", "update")
    content = _untimed(patch) if kind == "Pod" and is_change else None
    return ["change" if is_change else verb, kind, subresource, content]


def _untimed(patch: Json) -> Json:
    """The contents of a patch: fields that a server fills in are left out, and so are times."""
    patched = {name: patch[name] for name in ("metadata", "spec") if name in patch and "status" not in patch}
    if "status" in patch:
        patched["status"] = [(each["type"], each["reason"], each["message"]) for each in patch["status"]["conditions"]]
    return patched


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: str(flow["name"]))
async def test_every_pass_does_what_the_real_kueue_did(flow: Json) -> None:
    resized = 0
    for step in await replay_flow(flow):
        if flow["name"] in RESIZED and step.workloads[0]["podSets"] == RESIZED[flow["name"]]:
            resized += 1
            continue
        assert in_no_order(step.seen.events) == in_no_order(patched(step)), step.recorded
        assert in_no_order(sent(step.seen)) == in_no_order(recorded_writes(step)), step.recorded
        assert in_no_owner_order(step.workloads) == in_no_owner_order(step.recorded["workloads"]), step.recorded
        if "pods" in step.recorded:
            assert without_empty(step.pods) == without_empty(step.recorded["pods"]), step.recorded
    assert resized == (flow["name"] in RESIZED)


def in_no_owner_order(workloads: list[Json]) -> Json:
    return without_empty([{**each, "owners": sorted(each["owners"])} for each in workloads])
