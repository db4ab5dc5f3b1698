"""A job that was started and stopped is what its user wrote, to the byte (JOB-52); no pod is lost or added."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.actions import admit, newest_workload, pass_harness, preempt, run_until_settled
from jobs.app_wrappers import FAILED, SUCCEEDED, make_app_wrapper, wrapped_job, wrapped_part, wrapped_service
from jobs.jobsets import ended, make_jobset, pod_template, replicated_job
from jobs.simulations import make_simulation, simulation_framework
from jobs.spark_applications import in_state, make_application, role
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_finished, is_reserved
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.frameworks.appwrapper import AppWrapperFramework
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.frameworks.sparkapplication import SparkApplicationFramework
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
    for each in found["spec"]["roles"]:
        each["template"] = draw(TEMPLATES)
    return found


ENTRIES_OF_ROLES: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            ("labels", "annotations", "nodeSelector"), st.dictionaries(NAMES, NAMES, min_size=1, max_size=2)
        ),
        "tolerations": TOLERATIONS,
        "template": TEMPLATES,
    },
)


@st.composite
def app_wrappers(draw: st.DrawFn) -> Json:
    components = draw(
        st.lists(
            st.one_of(
                st.builds(lambda count, template: wrapped_job(count, template), st.integers(0, 5), TEMPLATES),
                st.builds(wrapped_part, TEMPLATES, TEMPLATES),
                st.builds(wrapped_service),
            ),
            min_size=1,
            max_size=4,
        )
    )
    return make_app_wrapper(*components, wrapped_job(1), namespace="ns", suspend=True)


@st.composite
def applications(draw: st.DrawFn) -> Json:
    driver, executor = (role(**draw(ENTRIES_OF_ROLES)) for _ in range(2))
    executor |= draw(st.fixed_dictionaries({}, optional={"instances": st.integers(0, 5)}))
    selector: Json = draw(st.fixed_dictionaries({}, optional={"nodeSelector": st.just({"z": "1"})}))
    return make_application(namespace="ns", driver=driver, executor=executor, suspend=True, **selector)


KINDS: dict[str, tuple[Framework, st.SearchStrategy[Json]]] = {
    "AppWrapper": (AppWrapperFramework(), app_wrappers()),
    "JobSet": (JobSetFramework(), jobsets()),
    "Simulation": (simulation_framework(), simulations()),
    "SparkApplication": (SparkApplicationFramework(), applications()),
}


def staged(framework: Framework, obj: Json) -> Any:
    harness = pass_harness(framework)
    harness.registry = FrameworkRegistry(harness.registry.frameworks, frozenset({framework.name}), frozenset())
    harness.put(obj)
    return harness


def in_order(obj: Json) -> bytes:
    """The object as API servers write it: with its members in order."""
    return msgspec.json.encode(obj, order="sorted")


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
        assert in_order(stored_job(harness, obj)) == in_order(before)
    assert len(harness.workloads) == 1, "it keeps its Workload"


ENDS: dict[str, tuple[Json, ...]] = {
    "AppWrapper": (SUCCEEDED, FAILED),
    "JobSet": (ended("Completed"), ended("Failed")),
    "SparkApplication": (in_state("COMPLETED"), in_state("FAILED"), in_state("SUBMISSION_FAILED")),
}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("suspended", [True, False])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
async def test_a_finished_job_frees_its_quota(kind: str, suspended: bool, data: st.DataObject) -> None:
    framework, objects = KINDS[kind]
    obj, status = data.draw(objects), data.draw(st.sampled_from(ENDS[kind]))
    harness, key = staged(framework, obj), JobKey("ns", obj["metadata"]["name"])
    await run_until_settled(harness, framework, key)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, framework, key)
    harness.patch(kind, ObjectKey("ns", key.name), {"spec": {"suspend": suspended}, "status": status})
    await run_until_settled(harness, framework, key)
    workload = newest_workload(harness)
    assert is_finished(workload)
    assert not workload.metadata.finalizers
    assert is_reserved(workload), "as Kueue's: a finished Workload keeps its conditions and counts no more"
