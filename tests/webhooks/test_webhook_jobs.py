"""The webhooks of jobs: called with the current context, with the responses of the rules of `jobs`."""

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.reviews import UserInfo
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import ClusterReader
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import RetryError
from kohort.jobs.registry import FrameworkRegistry, registry_of
from kohort.kube.errors import ErrorSubject, KubeError, not_found
from kohort.webhooks.jobs import JobContextProvider, framework_registrations, job_handlers
from kohort.webhooks.server import handle_admission

Json = Any
MUTATE, VALIDATE = "/mutate-batch-v1-job", "/validate-batch-v1-job"


@dataclass(frozen=True)
class EmptyReads:
    """Settings, and nothing to read."""

    configuration: Configuration = field(default_factory=default_configuration)
    gates: FeatureGates = DEFAULT_GATES


FACTS = JobContext(cast("ClusterReader", EmptyReads()))


@dataclass
class FixedGatherer:
    """A gatherer with one result, or a failure."""

    facts: JobContext = FACTS
    failure: Exception | None = None
    asked: tuple[Json, ...] = ()
    authors: tuple[UserInfo | None, ...] = ()

    async def build(self, obj: Json, *, is_new: bool, author: UserInfo | None) -> JobContext:
        self.asked = (*self.asked, obj)
        self.authors = (*self.authors, author)
        if self.failure is not None:
            raise self.failure
        return replace(self.facts, is_new=is_new)


def job(labels: Mapping[str, str] | None = None, **spec: Json) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec = {"parallelism": 1, "completions": 1, "suspend": False, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": labels or {}}, "spec": spec}


def registry() -> FrameworkRegistry:
    return registry_of(default_configuration(), built_in_frameworks())


async def asked(path: str, obj: Json, gatherer: JobContextProvider | None, old: Json = None) -> Json:
    request: Json = {"uid": "u", "operation": "UPDATE" if old else "CREATE", "namespace": "team", "object": obj}
    request["userInfo"] = {"username": "alice"}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {**request, "oldObject": old}}
    judge = job_handlers(registry(), lambda: gatherer)[path]
    return json.loads(await handle_admission(path, judge, json.dumps(review).encode()))["response"]


def patch_of(response: Json) -> dict[str, Json]:
    return {each["path"]: each.get("value") for each in json.loads(b64decode(response["patch"]))}


async def test_a_job_with_a_queue_is_suspended() -> None:
    """JOB-69."""
    response = await asked(MUTATE, job({"kueue.x-k8s.io/queue-name": "q"}), FixedGatherer())
    assert patch_of(response) == {"/spec/suspend": True}


async def test_a_job_without_a_queue_is_left_alone() -> None:
    assert await asked(MUTATE, job(), FixedGatherer()) == {"uid": "u", "allowed": True}


async def test_a_queue_in_an_annotation_is_taken_and_warned_about() -> None:
    named = job()
    named["metadata"]["annotations"] = {"kueue.x-k8s.io/queue-name": "q"}
    response = await asked(MUTATE, named, FixedGatherer())
    assert len(response["warnings"]) == 1
    assert patch_of(response)["/spec/suspend"] is True


async def test_a_job_that_breaks_a_rule_is_refused() -> None:
    """JOB-71."""
    response = await asked(VALIDATE, job({"kueue.x-k8s.io/queue-name": "not a name"}), FixedGatherer())
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert "kueue.x-k8s.io/queue-name" in response["status"]["message"]


async def test_a_change_is_judged_by_what_was_there() -> None:
    """JOB-72."""
    before, after = ({"kueue.x-k8s.io/queue-name": name} for name in ("one", "other"))
    response = await asked(VALIDATE, job(after), FixedGatherer(), old=job(before))
    assert response["allowed"] is False


async def test_the_author_is_checked_where_a_controller_is_set() -> None:
    """DEV-9."""
    owned = job()
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "K", "name": "o", "controller": True}]
    known = FixedGatherer()
    for obj, old in ((owned, None), (owned, job()), (owned, owned), (job(), owned), (job(), None)):
        await asked(VALIDATE, obj, known, old=old)
    assert [author and author.username for author in known.authors] == ["alice", "alice", None, None, None]


async def test_the_rules_get_the_namespace_of_the_request_for_a_job_without_one() -> None:
    known = FixedGatherer()
    response = await asked(MUTATE, job({"kueue.x-k8s.io/queue-name": "q"}), known)
    assert known.asked[0]["metadata"]["namespace"] == "team"
    assert not any(path.startswith("/metadata") for path in patch_of(response))


async def test_jobs_are_rejected_with_a_retry_before_the_caches_are_synced() -> None:
    response = await asked(MUTATE, job(), None)
    assert (response["allowed"], response["status"]["code"]) == (False, 503)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (RetryError("workload owner not found: Job team/x"), "workload owner not found: Job team/x"),
        (KubeError("no connection"), "the webhook could not read from the API server: no connection"),
        (
            not_found(ErrorSubject("pods", name="x")),
            'the webhook could not read from the API server: pods "x" not found',
        ),
    ],
)
async def test_what_can_not_be_determined_is_reported_in_one_line(failure: Exception, message: str) -> None:
    response = await asked(MUTATE, job(), FixedGatherer(failure=failure))
    assert response["status"]["message"] == message


async def test_a_framework_that_is_not_enabled_is_not_validated() -> None:
    """JOB-75."""
    assert await asked("/mutate-apps-v1-deployment", {}, None) == {"uid": "u", "allowed": True}


def test_kinds_whose_templates_are_handed_down_are_seen_on_update_too() -> None:
    """API-96."""
    seen = {each.name: each.operations for each in framework_registrations(built_in_frameworks())}
    assert seen["mjob.kb.io"] == ("CREATE",)
    assert seen["mpod.kb.io"] == ("CREATE",)
    assert seen["mdeployment.kb.io"] == seen["mstatefulset.kb.io"] == ("CREATE", "UPDATE")
    assert {seen[name] for name in seen if name.startswith("v")} == {("CREATE", "UPDATE")}
