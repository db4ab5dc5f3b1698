"""Which controller references count: those that the owner's controller wrote, while the owner may run (DEV-9)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, queue_objects, running_job_harness
from jobs.pod_flows import FRAMEWORKS
from jobs.webhook_caller import K, make_pod_of_job, make_sent_pod
from kit.builders.batch import make_job
from kit.builders.kueue import make_local_queue
from kohort.api.codec import JsonObject
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.reviews import UserInfo
from kohort.api.resource import Resource
from kohort.controllers.context import ManagerSettings
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting import FORGED_CONTROLLER_WARNING, default_job
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.ownership import ControllerPermissions, controls
from kohort.jobs.registry import FrameworkRegistry, registry_of
from kohort.jobs.validation import validate_job
from kohort.kube.access_reviews import AccessReviewer

ENABLED_FRAMEWORKS = ("batch/job", "pod", "deployment", "statefulset")
SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=ENABLED_FRAMEWORKS)))
JOB_CONTROLLER = UserInfo("system:serviceaccount:kube-system:job-controller")
TENANT = UserInfo("alice", groups=("system:authenticated",))
ADMIN = UserInfo("root", groups=("system:masters", "system:authenticated"))


class PodWebhookHarness:
    """The webhooks of a manager whose caches can be held back."""

    def __init__(self, harness: JobManagerHarness) -> None:
        self.harness = harness
        context = harness.manager.context
        self.registry: FrameworkRegistry = registry_of(
            SETTINGS.configuration, (BatchJobFramework(), *FRAMEWORKS.values())
        )
        self.reads = CacheReader(context, UidExpectations())
        self._gatherer = JobContextBuilder(context, self.registry, self.reads)

    async def facts(self, obj: JsonObject, author: UserInfo | None, *, is_new: bool = True) -> JobContext:
        return await self._gatherer.build(obj, is_new=is_new, author=author)

    async def is_gated(self, pod: JsonObject, author: UserInfo) -> bool:
        made, _ = default_job(PodFramework(), pod, await self.facts(pod, author))
        return bool(made["spec"].get("schedulingGates"))


@asynccontextmanager
async def running_pod_webhook(cpu: str = "4") -> AsyncIterator[PodWebhookHarness]:
    async with running_job_harness(SETTINGS, BatchJobFramework(), *FRAMEWORKS.values()) as harness:
        editor = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "editors", "namespace": "default"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": TENANT.username}],
        }
        await harness.create(editor, *queue_objects(cpu))
        await harness.settle()
        yield PodWebhookHarness(harness)


async def job_in(harness: JobManagerHarness, cpu: str = "1") -> JsonObject:
    """A Job, after the manager did what it could; it is admitted if its cpu is there."""
    await harness.create(make_job(cpu=cpu))
    await harness.settle()
    return await harness.job()


async def test_pods_of_an_admitted_job_pass() -> None:
    async with running_pod_webhook() as webhook:
        pod = make_pod_of_job(await job_in(webhook.harness))
        facts = await webhook.facts(pod, JOB_CONTROLLER)
        assert facts.has_managed_owner
        assert facts.has_owner_of_managed_kind
        assert not await webhook.is_gated(pod, JOB_CONTROLLER)


@pytest.mark.parametrize("author", [JOB_CONTROLLER, ADMIN, TENANT])
async def test_a_pod_that_names_a_pending_job_is_gated_whichever_client_created_it(author: UserInfo) -> None:
    async with running_pod_webhook() as webhook:
        assert await webhook.is_gated(make_pod_of_job(await job_in(webhook.harness, cpu="100")), author)


async def test_a_pod_that_a_tenant_made_for_an_admitted_job_is_gated_and_keeps_its_owner() -> None:
    async with running_pod_webhook() as webhook:
        pod = make_pod_of_job(await job_in(webhook.harness))
        made, warnings = default_job(PodFramework(), pod, await webhook.facts(pod, TENANT))
        assert made["spec"]["schedulingGates"]
        assert made["metadata"]["labels"][f"{K}managed"] == "true"
        (before,), (after,) = pod["metadata"]["ownerReferences"], made["metadata"]["ownerReferences"]
        assert after == {**before, "controller": False}
        assert warnings == [FORGED_CONTROLLER_WARNING]


def all_rights_in(namespace: str, user: UserInfo) -> tuple[JsonObject, JsonObject]:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "everything", "namespace": namespace}}
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.username}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "everything"}
    return {**head, "kind": "Role", "rules": [rule]}, {
        **head,
        "kind": "RoleBinding",
        "roleRef": ref,
        "subjects": [subject],
    }


async def test_all_rights_in_a_namespace_are_not_those_of_a_controller_of_kubernetes() -> None:
    async with running_pod_webhook() as webhook:
        await webhook.harness.create(*all_rights_in("default", TENANT))
        assert await webhook.is_gated(make_pod_of_job(await job_in(webhook.harness)), TENANT)


async def test_an_operator_of_another_kind_may_be_installed_for_a_namespace_alone() -> None:
    async with running_pod_webhook() as webhook:
        await webhook.harness.create(*all_rights_in("default", TENANT))
        rights = ControllerPermissions(AccessReviewer(webhook.harness.manager.context.client))
        robots = Resource("example.com", "v1", "Robot", "robots", namespaced=True)
        assert await rights.includes(TENANT, robots, "default")
        assert not await rights.includes(TENANT, robots, "other")
        assert not await rights.includes(TENANT, BatchJobFramework.resource, "default")
        assert await rights.includes(ADMIN, BatchJobFramework.resource, "default")


async def test_a_pod_that_the_selector_of_its_job_does_not_match_is_gated() -> None:
    async with running_pod_webhook() as webhook:
        pod = make_pod_of_job(await job_in(webhook.harness), labels={f"{K}queue-name": "q"})
        assert await webhook.is_gated(pod, ADMIN)


async def test_a_pod_of_a_job_that_was_evicted_is_gated() -> None:
    async with running_pod_webhook() as webhook:
        pod = make_pod_of_job(await job_in(webhook.harness))
        (workload,) = await webhook.harness.workloads()
        place = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/{workload['metadata']['name']}"
        assert (await webhook.harness.server.merge(place, {"spec": {"active": False}})).status == 200
        await webhook.harness.settle()
        assert await webhook.is_gated(pod, JOB_CONTROLLER)


async def test_a_cache_that_lags_behind_holds_no_pod_of_an_admitted_job(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_pod_webhook() as webhook:
        pod = make_pod_of_job(await job_in(webhook.harness))
        monkeypatch.setattr(webhook.reads, "owned_workloads", lambda *_: ())
        assert not await webhook.is_gated(pod, JOB_CONTROLLER)


async def test_an_owner_with_another_uid_in_the_cache_is_read_from_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_pod_webhook() as webhook:
        job = await job_in(webhook.harness)
        webhook.reads.add_kind(BatchJobFramework())
        former = {**job, "metadata": {**job["metadata"], "uid": "before"}}
        monkeypatch.setattr(webhook.reads.caches[BatchJobFramework.resource], "get", lambda _key: former)
        assert not await webhook.is_gated(make_pod_of_job(job), JOB_CONTROLLER)
        assert await webhook.is_gated(make_pod_of_job(former), JOB_CONTROLLER)


async def test_a_default_queue_is_not_escaped_by_a_forged_owner() -> None:
    async with running_pod_webhook() as webhook:
        await webhook.harness.create(make_local_queue("default", "cq"))
        job = await job_in(webhook.harness)
        pod = make_pod_of_job(job, labels={f"{K}queue-name": None})
        assert await webhook.is_gated(pod, TENANT)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "never", "uid": "u", "controller": True}
        child = make_job("child", queue="", suspend=False)
        child["metadata"]["ownerReferences"] = [owner]
        made, _ = default_job(BatchJobFramework(), child, await webhook.facts(child, TENANT))
        assert made["metadata"]["labels"][f"{K}queue-name"] == "default"
        assert made["spec"]["suspend"] is True


async def test_a_job_that_a_tenant_made_for_another_job_is_queued_on_its_own() -> None:
    async with running_pod_webhook() as webhook:
        owner = await job_in(webhook.harness)
        child = make_job("child", suspend=False)
        child["metadata"]["ownerReferences"] = make_pod_of_job(owner)["metadata"]["ownerReferences"]
        made, _ = default_job(BatchJobFramework(), child, await webhook.facts(child, TENANT))
        assert made["spec"]["suspend"] is True


async def test_a_controller_is_not_added_later_by_a_tenant() -> None:
    async with running_pod_webhook() as webhook:
        job = await job_in(webhook.harness)
        old = make_sent_pod("a", labels=make_pod_of_job(job)["metadata"]["labels"])
        new = make_pod_of_job(job)
        errors, _ = validate_job(PodFramework(), new, old, await webhook.facts(new, TENANT, is_new=False))
        assert [str(error.path) for error in errors] == ["metadata.ownerReferences"]
        errors, _ = validate_job(PodFramework(), new, old, await webhook.facts(new, JOB_CONTROLLER, is_new=False))
        assert errors == []


def owner_of(kind: str, group: str = "apps", **selector: Any) -> JsonObject:
    version = f"{group}/v1" if group else "v1"
    return {"apiVersion": version, "kind": kind, "metadata": {}, "spec": {"selector": selector} if selector else {}}


@pytest.mark.parametrize(
    ("owner", "child", "expected"),
    [
        (owner_of("ReplicaSet", matchLabels={"app": "a"}), owner_of("Pod", ""), True),
        (owner_of("ReplicaSet", matchLabels={"app": "b"}), owner_of("Pod", ""), False),
        (owner_of("ReplicaSet"), owner_of("Pod", ""), False),
        (owner_of("Deployment", matchLabels={"app": "a"}), owner_of("Pod", ""), False),
        (owner_of("Job", "batch", matchLabels={"app": "b"}), owner_of("Job", "batch"), True),
        (owner_of("Deployment", matchLabels={"app": "a"}), owner_of("ReplicaSet"), True),
        (owner_of("Job", "batch", matchLabels={"app": "a"}), owner_of("ReplicaSet"), False),
        (owner_of("Pod", ""), owner_of("Pod", ""), False),
        (owner_of("JobSet", "jobset.x-k8s.io"), owner_of("Job", "batch"), True),
    ],
)
def test_an_owner_controls_what_its_controller_creates_and_selects(
    owner: JsonObject, child: JsonObject, expected: bool
) -> None:
    labelled = {**child, "metadata": {"labels": {"app": "a"}}}
    assert controls(owner, labelled) is expected


async def test_a_missing_parent_does_not_keep_a_pod_out_of_the_queue() -> None:
    async with running_pod_webhook() as webhook:
        claimed = make_sent_pod("a", annotations={f"{K}pod-suspending-parent": "deployment"})
        made, _ = default_job(PodFramework(), claimed, await webhook.facts(claimed, None))
        assert made["spec"]["schedulingGates"]
        assert made["metadata"]["labels"][f"{K}managed"] == "true"
        held = make_pod_of_job(await job_in(webhook.harness), annotations={f"{K}pod-suspending-parent": "deployment"})
        made, _ = default_job(PodFramework(), held, await webhook.facts(held, ADMIN))
        assert f"{K}managed" not in made["metadata"]["labels"]


@pytest.mark.parametrize(("phase", "refused"), [("Pending", True), ("Running", True), ("Succeeded", False)])
async def test_a_pod_is_not_taken_out_of_the_queue_before_it_ended(phase: str, refused: bool) -> None:
    async with running_pod_webhook() as webhook:
        old = {**make_sent_pod("a", labels={f"{K}managed": "true"}), "status": {"phase": phase}}
        new = {**make_sent_pod("a"), "status": {"phase": phase}}
        errors, _ = validate_job(PodFramework(), new, old, await webhook.facts(new, None, is_new=False))
        assert [str(error.path) for error in errors] == [f"metadata.labels[{K}managed]"] * refused
