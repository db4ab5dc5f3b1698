"""Cases that run on all control planes, each in its own namespace, concurrently."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kohort.api.core.batch import CronJob
from kohort.api.resource import Resource
from kohort.api.times import parse_time
from workloads.harness import CaseNamespace, Object

CaseFunction = Callable[[CaseNamespace], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case; `loose` are the reasons of events whose number varies."""

    name: str
    function: CaseFunction
    loose: frozenset[str] = frozenset()


CASES: list[Case] = []


def case(*loose: str) -> Callable[[CaseFunction], CaseFunction]:
    """Register a case; its final state is recorded when the function returns."""

    def register(function: CaseFunction) -> CaseFunction:
        CASES.append(Case(function.__name__, function, frozenset(loose)))
        return function

    return register


def job(run: str = "1", code: int = 0, restart: str = "Never", overrides: Object | None = None, **spec: Any) -> Object:
    """A Job whose pods run for so many seconds and end with a code."""
    annotations = {"kohort.dev/run-seconds": run, "kohort.dev/exit-code": str(code)}
    annotations.update({f"kohort.dev/{name}": text for name, text in (overrides or {}).items()})
    container = {"name": "main", "image": "busybox:1"}
    pods = {"containers": [container], "restartPolicy": restart, "terminationGracePeriodSeconds": 5}
    template = {"metadata": {"annotations": annotations}, "spec": pods}
    return {"metadata": {"name": "work"}, "spec": {"template": template, **spec}}


def indexed(count: int, run: str = "1", code: int = 0, overrides: Object | None = None, **spec: Any) -> Object:
    spec = {"completionMode": "Indexed", "completions": count, "parallelism": count, **spec}
    return job(run, code, overrides=overrides, **spec)


def on_exit_code(action: str, code: int) -> Object:
    return {"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [code]}}]}


# The clock, first because it takes a minute


@case()
async def the_clock_makes_a_job(harness: CaseNamespace) -> None:
    template = {"metadata": {"labels": {"made": "by-clock"}}, "spec": job()["spec"]}
    spec = {"schedule": "* * * * *", "jobTemplate": template, "concurrencyPolicy": "Forbid"}
    await harness.create({"metadata": {"name": "tick"}, "spec": spec}, CronJob.resource)
    # Until it is recorded, too: an edit in between would make the controller's write a conflict, without a repetition.
    await harness.until("made", lambda: bool(harness.jobs) and "lastScheduleTime" in harness.cron_status)
    await harness.edit({"spec": {"suspend": True}}, "tick", CronJob.resource)
    await harness.until("succeeded", lambda: "lastSuccessfulTime" in harness.cron_status)
    await harness.until("not active", lambda: not harness.cron_status.get("active"))
    made = harness.jobs[0]["metadata"]
    facts = {"labels": made["labels"], "owner": made["ownerReferences"][0]["kind"], "notes": list(made["annotations"])}
    harness.states.append(("the Job", facts))
    harness.states.append(("the CronJob", {"status": sorted(harness.cron_status)}))


# Success


@case()
async def one_pod_succeeds(harness: CaseNamespace) -> None:
    await harness.create(job())
    await harness.until_finished()


@case()
async def a_running_job_reports_how_many_pods_are_ready(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=3, parallelism=2))
    await harness.until_running(2)


@case()
async def four_completions_two_at_a_time(harness: CaseNamespace) -> None:
    await harness.create(job(completions=4, parallelism=2))
    await harness.until_finished()


@case()
async def a_work_queue_ends_with_its_pods(harness: CaseNamespace) -> None:
    await harness.create(job("2", parallelism=2))
    await harness.until_finished()


@case()
async def nothing_to_complete(harness: CaseNamespace) -> None:
    await harness.create(job(completions=0))
    await harness.until_finished()


@case()
async def more_parallelism_than_completions(harness: CaseNamespace) -> None:
    await harness.create(job(completions=2, parallelism=5))
    await harness.until_finished()


@case()
async def init_containers_and_two_containers(harness: CaseNamespace) -> None:
    made = job()
    made["spec"]["template"]["spec"]["initContainers"] = [{"name": "first", "image": "busybox:1"}]
    made["spec"]["template"]["spec"]["containers"].append({"name": "second", "image": "busybox:1"})
    await harness.create(made)
    await harness.until_finished()


# Failure


@case()
async def the_first_failure_is_the_last(harness: CaseNamespace) -> None:
    await harness.create(job(code=1, backoffLimit=0))
    await harness.until_finished()


@case()
async def a_failed_pod_is_replaced_after_a_while(harness: CaseNamespace) -> None:
    await harness.create(job(code=1, backoffLimit=1))
    await harness.until_finished()
    await harness.until("two pods seen", lambda: len(harness.pods) == 2)
    first, second = sorted(harness.pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    ended = first["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    waited = parse_time(second["metadata"]["creationTimestamp"]) - parse_time(ended)
    harness.states.append(("waited", {"for ten seconds": waited.total_seconds() >= 9}))


@case()
async def one_failure_stops_the_other_pods(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=2, parallelism=2, backoffLimit=0))
    await harness.until_running(2)
    await harness.delete_pod(harness.running[0])
    await harness.until_finished()


@case()
async def containers_are_restarted_in_place(harness: CaseNamespace) -> None:
    await harness.create(job(restart="OnFailure", overrides={"fail-times": "1", "exit-code": "1"}, backoffLimit=4))
    await harness.until_finished()


@case()
async def too_many_restarts_in_place(harness: CaseNamespace) -> None:
    await harness.create(job(code=1, restart="OnFailure", backoffLimit=1))
    await harness.until_finished()


@case()
async def a_pod_deleted_by_hand_counts_as_failed_and_is_replaced(harness: CaseNamespace) -> None:
    await harness.create(job("forever"))
    await harness.until_running(1)
    first = harness.running[0]
    await harness.delete_pod(first)
    await harness.until("counted", lambda: harness.status.get("failed") == 1)
    await harness.until_running(1)


@case()
async def a_pod_is_replaced_only_when_it_has_ended(harness: CaseNamespace) -> None:
    made = job("forever", overrides={"stop-seconds": "12"}, podReplacementPolicy="Failed")
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 20
    await harness.create(made)
    await harness.until_running(1)
    await harness.delete_pod(harness.running[0])
    await harness.until("terminating", lambda: harness.status.get("terminating") == 1)
    await harness.record("on its way out")
    await harness.until("counted", lambda: harness.status.get("failed") == 1)
    await harness.until_running(1)


# Indexes


@case()
async def every_index_succeeds(harness: CaseNamespace) -> None:
    await harness.create(indexed(4, parallelism=2))
    await harness.until_finished()


@case()
async def some_indexes_fail_for_good(harness: CaseNamespace) -> None:
    await harness.create(indexed(4, overrides={"fail-indexes": "1,3"}, backoffLimitPerIndex=0))
    await harness.until_finished()


@case()
async def an_index_is_tried_again(harness: CaseNamespace) -> None:
    await harness.create(indexed(2, overrides={"fail-indexes": "0"}, backoffLimitPerIndex=1))
    await harness.until_finished()


@case()
async def more_indexes_fail_than_may(harness: CaseNamespace) -> None:
    await harness.create(
        indexed(3, overrides={"fail-indexes": "0-2"}, backoffLimitPerIndex=0, maxFailedIndexes=1, parallelism=1)
    )
    await harness.until_finished()


@case()
async def certain_indexes_are_enough(harness: CaseNamespace) -> None:
    made = indexed(3, "1", successPolicy={"rules": [{"succeededIndexes": "0"}]}, parallelism=1)
    await harness.create(made)
    await harness.until_finished()


@case()
async def the_others_are_stopped_when_one_index_is_enough(harness: CaseNamespace) -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    await harness.create(indexed(3, "16", successPolicy=policy, parallelism=1))
    await harness.until_running(1)
    started = parse_time(harness.running[0]["status"]["startTime"])
    await harness.until("half its time is over", lambda: (datetime.now(UTC) - started).total_seconds() > 8)
    await harness.edit({"spec": {"parallelism": 3}})
    await harness.until_running(3)
    await harness.until_finished()


@case()
async def a_number_of_successes_is_enough(harness: CaseNamespace) -> None:
    made = indexed(4, "1", successPolicy={"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]}, parallelism=1)
    await harness.create(made)
    await harness.until_finished()


@case()
async def an_elastic_job_shrinks(harness: CaseNamespace) -> None:
    await harness.create(indexed(3, "forever"))
    await harness.until_running(3)
    await harness.edit({"spec": {"completions": 1, "parallelism": 1}})
    await harness.until_running(1)
    await harness.until("two pods gone", lambda: len(harness.pods) == 1 and harness.status.get("terminating") == 0)


@case()
async def an_elastic_job_grows(harness: CaseNamespace) -> None:
    await harness.create(indexed(1, "forever"))
    await harness.until_running(1)
    await harness.edit({"spec": {"completions": 3, "parallelism": 3}})
    await harness.until_running(3)


# Policies


@case()
async def an_exit_code_fails_the_job(harness: CaseNamespace) -> None:
    await harness.create(job(code=42, podFailurePolicy=on_exit_code("FailJob", 42)))
    await harness.until_finished()


@case()
async def an_exit_code_is_ignored(harness: CaseNamespace) -> None:
    await harness.create(job(code=7, backoffLimit=0, podFailurePolicy=on_exit_code("Ignore", 7)))
    await harness.until("two failures", lambda: [pod["status"].get("phase") for pod in harness.pods] == ["Failed"] * 2)
    await harness.edit({"spec": {"suspend": True}})
    await harness.until("suspended", lambda: harness.has("Suspended") and not harness.status.get("terminating"))
    await harness.until_finalizers_removed()


@case()
async def an_exit_code_counts(harness: CaseNamespace) -> None:
    await harness.create(job(code=5, backoffLimit=0, podFailurePolicy=on_exit_code("Count", 5)))
    await harness.until_finished()


@case()
async def an_exit_code_fails_its_index(harness: CaseNamespace) -> None:
    overrides = {"fail-indexes": "1", "exit-code": "9"}
    policy = on_exit_code("FailIndex", 9)
    await harness.create(indexed(2, code=9, overrides=overrides, backoffLimitPerIndex=3, podFailurePolicy=policy))
    await harness.until_finished()


@case()
async def a_condition_of_a_pod_fails_the_job(harness: CaseNamespace) -> None:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "example.com/Broken", "status": "True"}]}
    await harness.create(job("10", 1, podFailurePolicy={"rules": [rule]}))
    await harness.until_running(1)
    (pod,) = harness.running
    broken = {"type": "example.com/Broken", "status": "True"}
    await harness.set_pod_status(pod, {"conditions": [*pod["status"]["conditions"], broken]})
    await harness.until_finished()


# Suspension


@case()
async def a_job_waits_while_it_is_suspended(harness: CaseNamespace) -> None:
    await harness.create(job(suspend=True))
    await harness.until("suspended", lambda: harness.has("Suspended"))


@case()
async def a_job_that_waited_is_resumed(harness: CaseNamespace) -> None:
    await harness.create(job(suspend=True))
    await harness.until("suspended", lambda: harness.has("Suspended"))
    await harness.record("suspended")
    await harness.edit({"spec": {"suspend": False}})
    await harness.until_finished()


@case()
async def a_running_job_is_suspended_and_resumed(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=3, parallelism=2))
    await harness.until_running(2)
    await harness.edit({"spec": {"suspend": True}})
    await harness.until("suspended", lambda: harness.has("Suspended") and not harness.pods)
    await harness.until("settled", lambda: harness.status.get("terminating") == 0)
    await harness.record("suspended")
    await harness.edit({"spec": {"suspend": False}})
    await harness.until_running(2)


@case()
async def directives_change_while_suspended(harness: CaseNamespace) -> None:
    await harness.create(job("forever", suspend=True))
    await harness.until("suspended", lambda: harness.has("Suspended"))
    selector = {"kubernetes.io/hostname": "node-1"}
    metadata = {"labels": {"team": "a"}, "annotations": {"example.com/note": "b"}}
    await harness.edit({"spec": {"template": {"metadata": metadata, "spec": {"nodeSelector": selector}}}})
    await harness.edit({"spec": {"suspend": False}})
    await harness.until_running(1)


@case()
async def a_deadline_counts_from_the_resumption(harness: CaseNamespace) -> None:
    await harness.create(job("forever", suspend=True, activeDeadlineSeconds=4))
    await harness.until("suspended", lambda: harness.has("Suspended"))
    await harness.edit({"spec": {"suspend": False}})
    await harness.until_finished()


# Edits and deadlines


@case()
async def less_parallelism_removes_pods(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=5, parallelism=3))
    await harness.until_running(3)
    await harness.edit({"spec": {"parallelism": 1}})
    await harness.until_running(1)
    await harness.until("two pods gone", lambda: len(harness.pods) == 1 and harness.status.get("terminating") == 0)


@case()
async def more_parallelism_adds_pods(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=5, parallelism=1))
    await harness.until_running(1)
    await harness.edit({"spec": {"parallelism": 3}})
    await harness.until_running(3)


@case()
async def no_parallelism_is_a_pause(harness: CaseNamespace) -> None:
    await harness.create(job(completions=2, parallelism=0))
    await harness.until("looked at", lambda: "startTime" in harness.status)
    await harness.record("paused")
    await harness.edit({"spec": {"parallelism": 2}})
    await harness.until_finished()


@case()
async def a_deadline_ends_the_job(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=2, parallelism=2, activeDeadlineSeconds=4))
    await harness.until_finished()


@case()
async def a_deadline_is_set_while_it_runs(harness: CaseNamespace) -> None:
    await harness.create(job("forever"))
    await harness.until_running(1)
    await harness.edit({"spec": {"activeDeadlineSeconds": 3}})
    await harness.until_finished()


@case()
async def a_backoff_limit_is_lowered(harness: CaseNamespace) -> None:
    await harness.create(job(code=1, backoffLimit=6))
    await harness.until("one failure", lambda: harness.status.get("failed") == 1)
    await harness.edit({"spec": {"backoffLimit": 0}})
    await harness.until_finished()


# Going


@case()
async def a_finished_job_goes_at_once(harness: CaseNamespace) -> None:
    await harness.create(job(ttlSecondsAfterFinished=0))
    await harness.until("there", lambda: harness.job is not None)
    await harness.until_gone()
    await harness.until("no pods", lambda: not harness.pods)


@case()
async def a_failed_job_goes_after_a_while(harness: CaseNamespace) -> None:
    await harness.create(job(code=1, backoffLimit=0, ttlSecondsAfterFinished=8))
    await harness.until_finished()
    await harness.record("finished")
    await harness.until_gone()
    await harness.until("no pods", lambda: not harness.pods)


@case()
async def a_running_job_is_deleted_in_the_background(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=2, parallelism=2))
    await harness.until_running(2)
    await harness.delete("Background")
    await harness.until("no pods", lambda: harness.job is None and not harness.pods)


@case("SuccessfulDelete")
async def a_running_job_is_deleted_in_the_foreground(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=2, parallelism=2))
    await harness.until_running(2)
    await harness.delete("Foreground")
    await harness.until("no pods", lambda: harness.job is None and not harness.pods)


@case()
async def a_running_job_leaves_its_pods_behind(harness: CaseNamespace) -> None:
    await harness.create(job("forever", completions=2, parallelism=2))
    await harness.until_running(2)
    await harness.delete("Orphan")
    await harness.until_gone()
    await harness.until_finalizers_removed()


@case()
async def a_finished_job_is_deleted_with_its_pods(harness: CaseNamespace) -> None:
    await harness.create(job(completions=2, parallelism=2))
    await harness.until_finished()
    await harness.delete("Foreground")
    await harness.until("no pods", lambda: harness.job is None and not harness.pods)


# Whose it is


@case()
async def another_controller_manages_it(harness: CaseNamespace) -> None:
    await harness.create(job(managedBy="example.com/other"))
    await harness.until("there", lambda: harness.job is not None)


@case()
async def it_reports_who_manages_it(harness: CaseNamespace) -> None:
    await harness.create(job(managedBy="kubernetes.io/job-controller"))
    await harness.until_finished()


@case()
async def a_selector_by_hand(harness: CaseNamespace) -> None:
    made = job(manualSelector=True, selector={"matchLabels": {"app": "mine"}})
    made["spec"]["template"]["metadata"]["labels"] = {"app": "mine"}
    await harness.create(made)
    await harness.until_finished()


@case("FailedCreate")
async def a_quota_leaves_no_space(harness: CaseNamespace) -> None:
    quota = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
    await harness.create({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}, quota)
    await harness.create(job("forever"))
    await harness.until("tried", lambda: "startTime" in harness.status)


@case()
async def no_node_has_space(harness: CaseNamespace) -> None:
    made = job()
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100"}}
    await harness.create(made)
    await harness.until("waiting", lambda: harness.status.get("active") == 1)


@case()
async def a_suspended_clock_makes_none(harness: CaseNamespace) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, "suspend": True}
    await harness.create({"metadata": {"name": "tick"}, "spec": spec}, CronJob.resource)
    await harness.until("there", lambda: harness.cron_job is not None)
