"""Lives of Ray objects, pass by pass, as the real Kueue led them (GS-26, GS-27)."""

from typing import Any

import pytest

from jobs.golden_jobs import events_of, harness_of, without_zero
from jobs.pass_harness import PassHarness
from jobs.test_golden_job_flows import apply_step, golden_workload, recorded, sent
from kit.golden.recordings import job_recording
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework

Json = Any

FRAMEWORKS = {each.name: each for each in (RayClusterFramework(), RayJobFramework(), RayServiceFramework())}
FLOWS = [flow for flow in job_recording("flows-other") if "Ray" in flow["name"]]


def apply_to_finalized(harness: PassHarness, step: Json) -> None:
    """Do a step; an object with finalizers is deleted once they are removed."""
    key = (step.get("kind", ""), ObjectKey("ns", step.get("objectName", "")))
    if step["do"] == "delete" and harness.objects[key]["metadata"].get("finalizers"):
        harness.patch(*key, {"metadata": {"deletionTimestamp": "2026-08-01T12:00:00Z"}})
        return
    apply_step(harness, step)
    found = harness.objects.get(key, {"metadata": {}})["metadata"]
    if found.get("deletionTimestamp") and not found.get("finalizers"):
        harness.delete(*key)


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow["name"])
async def test_every_pass_does_what_the_real_kueue_did(flow: Json) -> None:
    harness = harness_of(flow, *FRAMEWORKS.values())
    for step in flow["steps"]:
        if step["do"] != "reconcile":
            apply_to_finalized(harness, step)
            continue
        framework, observed = FRAMEWORKS[step["framework"]], step["observed"]
        namespace, name = step["key"].split("/")
        seen = await harness.reconcile(framework, JobKey(namespace, name))
        assert seen.events == events_of(observed), step
        assert sent(seen) == recorded(observed), step
        assert seen.error == observed.get("error")
        workloads = sorted(harness.workloads.values(), key=lambda each: each.metadata.name)
        expected = sorted(step["workloads"], key=lambda each: str(each["name"]))
        assert [without_zero(golden_workload(each)) for each in workloads] == without_zero(expected), step
        if "objectAfter" in step:
            after = dict(harness.objects.get((framework.resource.kind, ObjectKey(namespace, name)), {"metadata": {}}))
            after["metadata"] = {key: value for key, value in after["metadata"].items() if key != "resourceVersion"}
            assert without_zero(after) == without_zero(step["objectAfter"] or {})
