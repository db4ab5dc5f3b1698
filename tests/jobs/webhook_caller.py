"""A cluster with a manager, to which pods and their owners are submitted through the webhooks."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from jobs.job_manager_harness import JobManagerHarness, queue_objects, running_job_harness
from jobs.pod_flows import FRAMEWORKS
from kit.apiserver import Object
from kohort.api.codec import JsonObject as Job
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.merge import merge
from kohort.controllers.context import ManagerSettings
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.registry import registry_of
from kohort.jobs.validation import validate_job

K = "kueue.x-k8s.io/"
SETTINGS = ManagerSettings(
    Configuration(integrations=Integrations(frameworks=("pod", "deployment", "statefulset", "batch/cronjob")))
)


class WebhookCaller:
    """The webhooks of jobs, as the API server calls them."""

    def __init__(
        self, harness: JobManagerHarness, frameworks: Collection[Framework] = tuple(FRAMEWORKS.values())
    ) -> None:
        self._harness = harness
        self._frameworks = frameworks

    async def send(self, obj: Job) -> None:
        """Create an object; it must be accepted."""
        made, errors = await self.review(obj, None)
        assert not errors, errors
        await self._harness.create(made)

    async def change(self, kind: str, name: str, patch: Object) -> list[str]:
        """Change an object; the errors if it is rejected."""
        old = await self._harness.server.get(object_path(kind, name))
        new, errors = await self.review(merge(old, patch), old)
        if not errors:
            reply = await self._harness.server.merge(object_path(kind, name), new)
            assert reply.status == 200, reply
        return errors

    async def review(self, new: Job, old: Job | None) -> tuple[Job, list[str]]:
        """The object with defaults, and the errors if it is rejected; without a webhook for its kind, as it is."""
        framework = next((each for each in self._frameworks if each.resource.kind == new["kind"]), None)
        if framework is None:
            return new, []
        context = self._harness.manager.context
        registry = registry_of(context.settings.configuration, self._frameworks, context.settings.gates)
        gatherer = JobContextBuilder(context, registry, CacheReader(context, UidExpectations()))
        facts = await gatherer.build(new, is_new=old is None, author=None)
        made, _ = default_job(framework, new, facts)
        errors, _ = validate_job(framework, made, old, facts)
        return made, [str(error) for error in errors]


def object_path(kind: str, name: str) -> str:
    """The path of an object."""
    plural = {"Pod": "/api/v1/namespaces/default/pods", "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets"}
    return f"{plural[kind]}/{name}"


@asynccontextmanager
async def running_pod_harness(cpu: str = "4") -> AsyncIterator[tuple[JobManagerHarness, WebhookCaller]]:
    """A cluster with queue `q` of so much cpu."""
    async with running_job_harness(SETTINGS, *FRAMEWORKS.values()) as harness:
        await harness.create(*queue_objects(cpu))
        await harness.settle()
        yield harness, WebhookCaller(harness)


async def pods_by_name(harness: JobManagerHarness) -> dict[str, Object]:
    """All pods by name."""
    listed = await harness.server.get("/api/v1/namespaces/default/pods")
    return {each["metadata"]["name"]: each for each in listed["items"]}


async def ungated_pods(harness: JobManagerHarness) -> list[str]:
    """Names of pods without scheduling gates."""
    return [name for name, pod in (await pods_by_name(harness)).items() if not pod["spec"].get("schedulingGates")]


async def set_pod_phase(harness: JobManagerHarness, name: str, phase: str) -> None:
    """Set the phase of a pod, as its kubelet would."""
    reply = await harness.server.merge(f"{object_path('Pod', name)}/status", {"status": {"phase": phase}})
    assert reply.status == 200, reply


async def delete_object(harness: JobManagerHarness, kind: str, name: str) -> None:
    """Delete an object, as a user would."""
    reply = await harness.server.request("DELETE", object_path(kind, name))
    assert reply.status in (200, 202), reply


def make_sent_pod(name: str, cpu: str = "1", **metadata: Any) -> Job:
    """A pod as a user sends it."""
    head = {"name": name, "namespace": "default", "labels": {f"{K}queue-name": "q"}}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {"containers": [container]}}
    return dict(merge(made, {"metadata": metadata}))


def make_sent_member(name: str, total: int, cpu: str = "1") -> Job:
    """A pod of group g as a user sends it."""
    return make_sent_pod(name, cpu, annotations={f"{K}pod-group-name": "g", f"{K}pod-group-total-count": str(total)})


def make_pod_of_job(job: Object, **metadata: Any) -> Job:
    """A pod as the controller of a Job creates it, but for the queue that it names itself."""
    head = job["metadata"]
    reference = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": head["name"], "uid": head["uid"]}
    labels = {f"{K}queue-name": "q", **job["spec"]["selector"]["matchLabels"]}
    return make_sent_pod("a", **{"labels": labels, "ownerReferences": [{**reference, "controller": True}], **metadata})


def stateful_set(replicas: int = 2) -> Job:
    """StatefulSet `db` as a user sends it."""
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    head = {"name": "db", "namespace": "default", "labels": {f"{K}queue-name": "q"}}
    spec = {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": head, "spec": spec}


def set_pod(index: int, uid: str) -> Job:
    """A pod as the controller of the StatefulSet of that UID creates it."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": uid, "controller": True}
    labels = {"a": "b", "apps.kubernetes.io/pod-index": str(index), f"{K}queue-name": None}
    notes = {f"{K}pod-suspending-parent": "statefulset"}
    return make_sent_pod(f"db-{index}", ownerReferences=[owner], labels=labels, annotations=notes)
