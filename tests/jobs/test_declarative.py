"""A framework that is pure data holds to the contract as any other (JOB-231, JOB-232, GS-42)."""

from typing import Any

import pytest

from jobs.actions import admit, newest_workload, pass_harness, run_until_settled
from jobs.simulations import SIMULATION, make_simulation
from kohort.api.meta import ObjectKey
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import JobKey
from kohort.jobs.declarative import DeclaredFramework, declared_framework
from kohort.jobs.registry import RegistryError

JOBSET = """
name: jobset.x-k8s.io/jobset
gvk: jobset.x-k8s.io/v1alpha2/JobSet
suspend: spec.suspend
podsets:
  - {foreach: "spec.replicatedJobs[*]", name_path: name, template: template.spec.template, count: replicas}
finished:
  - {condition: Completed, success: true, message_path: message}
  - {condition: Failed, success: false, message_path: message}
tas: {pod_index_label: batch.kubernetes.io/job-completion-index}
"""


def framework(text: str = SIMULATION) -> DeclaredFramework:
    return declared_framework(text)


def simulation(**status: Any) -> Any:
    return make_simulation("ns", **status)


def ended(condition: str) -> Any:
    return simulation(conditions=[{"type": condition, "status": "True", "message": "m"}])


def test_a_declared_framework_passes_the_conformance_kit() -> None:
    samples = Samples(simulation(), simulation(activePods=4, readyPods=4), ended("Done"), ended("Broken"))
    check_framework(framework(), samples, pass_harness())


def test_pod_sets_come_from_their_paths() -> None:
    found = framework().pod_sets(simulation(), pass_harness())
    assert [(each.name, each.count) for each in found] == [("coordinator", 1), ("a", 2), ("b", 1)]


def test_an_end_has_its_message() -> None:
    end = framework().finished(ended("Broken"))
    assert end is not None
    assert (end.success, end.message) == (False, "m")


@pytest.mark.parametrize(("ready", "is_ready"), [(3, False), (4, True)])
def test_readiness_counts_all_pods(ready: int, is_ready: bool) -> None:
    assert framework().pods_ready(simulation(readyPods=ready), pass_harness()) is is_ready


def test_a_template_that_is_not_there_gets_what_it_is_given() -> None:
    declared = framework(JOBSET)
    obj: Any = {"spec": {"replicatedJobs": [{"name": "Driver", "replicas": 1}]}}
    harness = pass_harness()
    (pod_set,) = declared.pod_sets(obj, harness)
    assert (pod_set.name, pod_set.topology_request is not None) == ("driver", True)


@pytest.mark.parametrize(
    ("old", "new"), [("suspend: spec.paused", ""), ("gvk: example.org/v1/", "gvk: "), ("op: ", "how: ")]
)
def test_a_declaration_with_too_few_or_too_many_fields_is_rejected_in_one_line(old: str, new: str) -> None:
    with pytest.raises(RegistryError, match="not a declaration of a framework") as caught:
        framework(SIMULATION.replace(old, new))
    assert "\n" not in str(caught.value)


async def test_a_declared_job_is_queued_started_and_stopped() -> None:
    declared = framework()
    harness = pass_harness(declared)
    harness.registry = type(harness.registry)(harness.registry.frameworks, frozenset({declared.name}), frozenset())
    harness.put(simulation())
    key = JobKey("ns", "s1")
    await run_until_settled(harness, declared, key)
    assert newest_workload(harness).metadata.name.startswith("simulation-s1-")
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, declared, key)
    running = harness.objects["Simulation", ObjectKey("ns", "s1")]
    assert running["spec"]["paused"] is False
    assert all(role["template"]["spec"]["nodeSelector"] == {"tier": "a"} for role in running["spec"]["roles"])
