"""A job that was started and stopped is what its user wrote, to the byte (JOB-52); no pod is lost or added."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.actions import admit, newest_workload, pass_harness, preempt, run_until_settled
from jobs.jobsets import ended, make_jobset, pod_template, replicated_job
from jobs.simulations import make_simulation, simulation_framework
from kohort.api.codec import encode
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_finished, is_reserved
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.registry import FrameworkRegistry

Json = Any

NAMES = st.sampled_from(["a", "b", "kohort.dev/c"])
ENTRIES = st.dictionaries(NAMES, NAMES, max_size=2)
TOLERATIONS = st.lists(st.builds(lambda key: {"key": key, "operator": "Exists"}, NAMES), max_size=2)
GATES = st.lists(st.builds(lambda name: {"name": name}, NAMES), max_size=2, unique_by=lambda each: each["name"])
METADATA = st.fixed_dictionaries({}, optional={"labels": ENTRIES, "annotations": ENTRIES})
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": ENTRIES,
        "tolerations": TOLERATIONS,
        "schedulingGates": GATES,
        "hostNetwork": st.just(True),
    },
)
TEMPLATES = st.builds(
    lambda metadata, spec: {**metadata, **pod_template(**spec)},
    st.fixed_dictionaries({}, optional={"metadata": METADATA}),
    SPECS,
)


@st.composite
def jobsets(draw: st.DrawFn) -> Json:
    count = draw(st.integers(1, 4))
    jobs = [
        replicated_job(
            f"job-{number}",
            draw(st.integers(0, 5)),
            draw(TEMPLATES),
            **draw(
                st.fixed_dictionaries({}, optional=dict.fromkeys(("parallelism", "completions"), st.integers(0, 5)))
            ),
        )
        for number in range(count)
    ]
    return make_jobset(*jobs, namespace="ns")


@st.composite
def simulations(draw: st.DrawFn) -> Json:
    found = make_simulation("ns")
    found["spec"]["coordinator"]["template"] = draw(TEMPLATES)
    for role in found["spec"]["roles"]:
        role["template"] = draw(TEMPLATES)
    return found


KINDS: dict[str, tuple[Framework, st.SearchStrategy[Json]]] = {
    "JobSet": (JobSetFramework(), jobsets()),
    "Simulation": (simulation_framework(), simulations()),
}


def staged(framework: Framework, obj: Json) -> Any:
    harness = pass_harness(framework)
    harness.registry = FrameworkRegistry(harness.registry.frameworks, frozenset({framework.name}), frozenset())
    harness.put(obj)
    return harness


def stored_job(harness: Any, obj: Json) -> Json:
    found = harness.objects[obj["kind"], ObjectKey("ns", obj["metadata"]["name"])]
    return {**found, "metadata": {**found["metadata"], "resourceVersion": ""}}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
async def test_a_stopped_job_is_what_it_was(kind: str, data: st.DataObject) -> None:
    framework, objects = KINDS[kind]
    obj = data.draw(objects)
    harness, key = staged(framework, obj), JobKey("ns", obj["metadata"]["name"])
    before = stored_job(harness, obj)
    counts = [(each.name, each.count) for each in framework.pod_sets(obj, harness)]
    for _ in range(2):
        await run_until_settled(harness, framework, key)
        workload = newest_workload(harness)
        assert [(each.name, each.count) for each in workload.spec.pod_sets] == counts
        admit(harness, workload)
        await run_until_settled(harness, framework, key)
        running = stored_job(harness, obj)
        assert not framework.is_suspended(running)
        assert [(each.name, each.count) for each in framework.pod_sets(running, harness)] == counts
        preempt(harness, newest_workload(harness))
        await run_until_settled(harness, framework, key)
        assert encode(stored_job(harness, obj)) == encode(before)
    assert len(harness.workloads) == 1, "it keeps its Workload"


@pytest.mark.parametrize("status", [ended("Completed"), ended("Failed")], ids=["completed", "failed"])
@pytest.mark.parametrize("suspended", [True, False])
@settings(max_examples=30, deadline=None)
@given(obj=jobsets())
async def test_a_finished_jobset_frees_its_quota(status: Json, suspended: bool, obj: Json) -> None:
    framework, key = JobSetFramework(), JobKey("ns", obj["metadata"]["name"])
    harness = staged(framework, obj)
    await run_until_settled(harness, framework, key)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, framework, key)
    harness.patch("JobSet", ObjectKey("ns", key.name), {"spec": {"suspend": suspended}, "status": status})
    await run_until_settled(harness, framework, key)
    workload = newest_workload(harness)
    assert is_finished(workload)
    assert not workload.metadata.finalizers
    assert is_reserved(workload), "as Kueue's: a finished Workload keeps its conditions and counts no more"
