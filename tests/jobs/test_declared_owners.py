"""Declared propagators and transit kinds (JOB-188, JOB-233)."""

from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.custom_kinds import QUEUE, controller_of, make_object, running_custom_kinds
from jobs.webhook_caller import make_sent_pod
from kohort.api.config.v1beta2 import Configuration
from kohort.install.permissions import manager_permissions
from kohort.jobs.builtin import with_declared
from kohort.jobs.declarative import parse_framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.registry import RegistryError, registry_of
from kohort.webhooks.jobs import framework_registrations

Json = Any

WORKFLOW = parse_framework("""
name: example.org/workflow
gvk: example.org/v1/Workflow
propagate: {labels: spec.jobTemplate.metadata.labels, mutable: true}
""")
STEP = parse_framework("""
name: example.org/step
gvk: example.org/v1/Step
transit: true
""")
RUN = parse_framework("""
name: example.org/run
gvk: example.org/v1/Run
suspend: spec.suspend
podsets: [{name: main, template: spec.template}]
""")


def test_a_declared_propagator_labels_what_its_operator_creates() -> None:
    obj = make_object(WORKFLOW.resource, "w", {"jobTemplate": {"spec": {}}})
    made, _ = default_job(WORKFLOW, obj, JobContext(pass_harness()))
    assert made["spec"]["jobTemplate"] == {"spec": {}, "metadata": {"labels": {QUEUE: "q"}}}
    assert WORKFLOW.is_propagator
    assert WORKFLOW.defaults_on_update


@pytest.mark.parametrize(
    "text",
    [
        "name: a\ngvk: a.b/v1/C\npropagate: {}",
        "name: a\ngvk: a.b/v1/C\npropagate: {labels: a, mutable: 3}",
        "name: a\ngvk: a.b/v1/C\ntransit: false",
        "name: a\ngvk: a.b\ntransit: true",
        "name: a\ngvk: a.b/v1/C\ntransit: true\nsuspend: spec.suspend",
        "[",
        "- transit",
    ],
)
def test_a_declaration_that_means_nothing_is_rejected_in_one_line(text: str) -> None:
    with pytest.raises(RegistryError, match="not a declaration of a framework") as caught:
        parse_framework(text)
    assert "\n" not in str(caught.value)


def test_the_file_that_declares_a_kind_enables_it() -> None:
    found = with_declared(Configuration(), [WORKFLOW, STEP, PodFramework()]).integrations.frameworks
    assert found == ("batch/job", "example.org/workflow", "example.org/step")


def test_a_transit_kind_is_readable_and_has_no_webhooks() -> None:
    granted = {(each.resources, each.verbs) for each in manager_permissions([STEP])}
    assert any(resources == ("steps",) and "get" in verbs for resources, verbs in granted)
    assert framework_registrations([STEP]) == ()
    assert len(framework_registrations([WORKFLOW])) == 2


def test_a_transit_kind_is_known_and_never_managed() -> None:
    configuration = with_declared(Configuration(), [STEP])
    registry = registry_of(configuration, [STEP, BatchJobFramework()])
    assert registry.is_known(("example.org", "Step"))
    assert not registry.is_managed(("example.org", "Step"))


async def test_pods_below_a_transit_kind_run_with_the_quota_of_its_owner() -> None:
    """JOB-3, JOB-188: without the declaration the pod would be queued a second time."""
    async with running_custom_kinds(RUN, STEP, PodFramework()) as cluster:
        template = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
        run = await cluster.submit(make_object(RUN.resource, "r", {"template": template}))
        assert run["spec"]["suspend"] is False
        step = make_object(STEP.resource, "s", {})
        step["metadata"]["ownerReferences"] = controller_of(run)
        await cluster.manager.create(step)
        step = await cluster.read(step)
        pod = await cluster.submit(make_sent_pod("p", ownerReferences=controller_of(step)))
        assert not pod["spec"].get("schedulingGates")
        assert len(await cluster.manager.workloads()) == 1
