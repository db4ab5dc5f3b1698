"""Jobs with numbered completions, and the effects of their policies on failures and successes."""

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio

from embedded.controllers.jobs.job_harness import JobControllerHarness, job, running_job_controller_harness
from kit.apiserver import Object

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"


@pytest_asyncio.fixture
async def harness() -> AsyncIterator[JobControllerHarness]:
    async with running_job_controller_harness() as found:
        yield found


def indexed(completions: int, parallelism: int | None = None, **spec: Any) -> Object:
    return job(completionMode="Indexed", completions=completions, parallelism=parallelism or completions, **spec)


async def by_index(harness: JobControllerHarness) -> dict[int, Object]:
    """Active pods by their index."""
    return {int(pod["metadata"]["annotations"][INDEX]): pod for pod in await harness.active()}


async def test_each_pod_has_its_index(harness: JobControllerHarness) -> None:
    await harness.create(indexed(2))
    await harness.settle()
    pods = await by_index(harness)
    assert sorted(pods) == [0, 1]
    assert pods[1]["metadata"]["labels"][INDEX] == "1"
    assert pods[1]["metadata"]["generateName"] == "work-1-"
    assert pods[1]["spec"]["hostname"] == "work-1"
    (variable,) = pods[1]["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


async def test_completed_indexes_are_listed_and_not_run_again(harness: JobControllerHarness) -> None:
    made = await harness.create(indexed(5))
    await harness.settle()
    pods = await by_index(harness)
    await harness.finish_pods(*(pods[index] for index in (0, 2, 3, 4)))
    await harness.finish_pods(pods[1], code=1)
    await harness.settle()
    assert (await harness.status(made))["completedIndexes"] == "0,2-4"
    await harness.advance(11)
    assert sorted(await by_index(harness)) == [1]
    await harness.finish_all_pods()
    status = await harness.status(made)
    assert (status["completedIndexes"], status["succeeded"], status["failed"]) == ("0-4", 5, 1)
    assert "Complete" in await harness.conditions(made)


async def test_an_elastic_job_shrinks_and_grows(harness: JobControllerHarness) -> None:
    made = await harness.create(indexed(4))
    await harness.settle()
    await harness.finish_pods((await by_index(harness))[3])
    await harness.settle()
    await harness.merge(made, {"spec": {"completions": 2, "parallelism": 2}})
    await harness.settle()
    assert sorted(await by_index(harness)) == [0, 1]
    assert (await harness.status(made)).get("completedIndexes", "") == ""
    await harness.merge(made, {"spec": {"completions": 3, "parallelism": 3}})
    await harness.settle()
    assert sorted(await by_index(harness)) == [0, 1, 2]


async def test_each_index_fails_by_itself(harness: JobControllerHarness) -> None:
    made = await harness.create(indexed(3, backoffLimitPerIndex=1))
    await harness.settle()
    await harness.finish_pods((await by_index(harness))[1], code=1)
    await harness.advance(11)
    again = (await by_index(harness))[1]
    assert again["metadata"]["annotations"][FAILURES] == "1"
    await harness.finish_pods(again, code=1)
    await harness.settle()
    assert (await harness.status(made))["failedIndexes"] == "1"
    await harness.finish_all_pods()
    assert (await harness.conditions(made))["Failed"] == ("True", "FailedIndexes", "Job has failed indexes")
    status = await harness.status(made)
    assert (status["completedIndexes"], status["failedIndexes"], status["failed"]) == ("0,2", "1", 2)


async def test_too_many_failed_indexes_fail_the_job(harness: JobControllerHarness) -> None:
    made = await harness.create(indexed(3, backoffLimitPerIndex=0, maxFailedIndexes=1))
    await harness.settle()
    pods = await by_index(harness)
    await harness.finish_pods(pods[0], pods[1], code=1)
    await harness.settle()
    await harness.remove_terminating_pods()
    message = "Job has exceeded the specified maximal number of failed indexes"
    assert (await harness.conditions(made))["Failed"] == ("True", "MaxFailedIndexesExceeded", message)


async def test_a_success_policy_ends_the_job_early(harness: JobControllerHarness) -> None:
    policy = {"rules": [{"succeededIndexes": "0,3"}, {"succeededIndexes": "1-2", "succeededCount": 1}]}
    made = await harness.create(indexed(4, successPolicy=policy))
    await harness.settle()
    await harness.mark_running(*await harness.active())
    await harness.finish_pods((await by_index(harness))[2])
    await harness.settle()
    assert await harness.conditions(made) == {
        "SuccessCriteriaMet": ("True", "SuccessPolicy", "Matched rules at index 1")
    }
    await harness.remove_terminating_pods()
    assert (await harness.conditions(made))["Complete"] == ("True", "SuccessPolicy", "Matched rules at index 1")
    assert (await harness.status(made)).get("failed") is None


def on_exit_codes(action: str, *codes: int, operator: str = "In") -> Object:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes)}}


async def test_a_policy_fails_the_job_at_once(harness: JobControllerHarness) -> None:
    policy = {"rules": [on_exit_codes("Ignore", 3), on_exit_codes("FailJob", 42)]}
    made = await harness.create(job(podFailurePolicy=policy))
    await harness.settle()
    (pod,) = await harness.active()
    await harness.finish_pods(pod, code=42)
    await harness.settle()
    name = pod["metadata"]["name"]
    message = f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 1"
    assert (await harness.conditions(made))["Failed"] == ("True", "PodFailurePolicy", message)


async def test_ignored_failures_do_not_count(harness: JobControllerHarness) -> None:
    made = await harness.create(job(backoffLimit=0, podFailurePolicy={"rules": [on_exit_codes("Ignore", 3)]}))
    await harness.settle()
    await harness.finish_all_pods(code=3)
    await harness.advance(11)
    assert len(await harness.active()) == 1
    assert (await harness.status(made)).get("failed") is None
    await harness.finish_all_pods(code=4)
    assert "Failed" in await harness.conditions(made)


async def test_a_job_that_ignores_disruptions_outlives_a_drain(harness: JobControllerHarness) -> None:
    """`kubectl drain` cordons the node and evicts its pods, one by one."""
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    made = await harness.create(job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
    await harness.settle()
    (evicted,) = await harness.active()
    await harness.bind(evicted, "node")
    await harness.set_status(evicted, phase="Running")
    name = evicted["metadata"]["name"]
    answer = await harness.cluster.request(
        "POST", f"/api/v1/namespaces/default/pods/{name}/eviction", {"metadata": {"name": name}}
    )
    assert answer.status == 201
    await harness.settle()
    terminating = await harness.get(evicted)
    await harness.finish_pods(terminating, code=143, conditions=terminating["status"]["conditions"])
    await harness.remove_terminating_pods()
    await harness.advance(11)
    (replacement,) = await harness.active()
    assert replacement["metadata"]["uid"] != evicted["metadata"]["uid"]
    assert "Failed" not in await harness.conditions(made)
    assert (await harness.status(made)).get("failed") is None
    await harness.finish_all_pods()
    assert "Complete" in await harness.conditions(made)


async def test_a_policy_may_match_conditions_too(harness: JobControllerHarness) -> None:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    made = await harness.create(job(podFailurePolicy={"rules": [rule]}))
    await harness.settle()
    (pod,) = await harness.active()
    await harness.finish_pods(pod, code=1, conditions=[harness.condition("DisruptionTarget", "True")])
    await harness.settle()
    message = f"Pod default/{pod['metadata']['name']} has condition DisruptionTarget matching FailJob rule at index 0"
    assert (await harness.conditions(made))["Failed"] == ("True", "PodFailurePolicy", message)


async def test_a_policy_fails_a_single_index(harness: JobControllerHarness) -> None:
    policy = {"rules": [on_exit_codes("FailIndex", 42)]}
    made = await harness.create(indexed(2, backoffLimitPerIndex=5, podFailurePolicy=policy))
    await harness.settle()
    await harness.finish_pods((await by_index(harness))[0], code=42)
    await harness.advance(15)
    assert sorted(await by_index(harness)) == [1]
    assert (await harness.status(made))["failedIndexes"] == "0"


async def test_a_terminating_pod_is_replaced_only_when_it_is_gone_if_so_configured(
    harness: JobControllerHarness,
) -> None:
    made = await harness.create(job(podReplacementPolicy="Failed"))
    await harness.settle()
    (pod,) = await harness.active()
    await harness.mark_running(pod)
    await harness.delete(pod)
    await harness.advance(15)
    assert not await harness.active()
    assert ((await harness.status(made))["terminating"], (await harness.status(made)).get("failed")) == (1, None)
    await harness.finish_pods(pod, code=1)
    await harness.advance(15)
    assert len(await harness.active()) == 1
    assert (await harness.status(made))["failed"] == 1
