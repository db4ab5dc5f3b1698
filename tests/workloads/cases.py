"""What is played on both control planes: each case in a namespace of its own, all of them at once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kohort.api.core.batch import CronJob
from kohort.api.resource import Resource
from kohort.api.times import parse_time
from workloads.stages import Object, Stage

Play = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One story; `loose` are reasons of events whose number is left to chance."""

    name: str
    play: Play
    loose: frozenset[str] = frozenset()


CASES: list[Case] = []


def case(*loose: str) -> Callable[[Play], Play]:
    """Have a story played; it ends when the function does, and is looked at then."""

    def keep(play: Play) -> Play:
        CASES.append(Case(play.__name__, play, frozenset(loose)))
        return play

    return keep


def job(run: str = "1", code: int = 0, restart: str = "Never", says: Object | None = None, **spec: Any) -> Object:
    """A Job whose pods run for so many seconds and end with a code."""
    annotations = {"kohort.dev/run-seconds": run, "kohort.dev/exit-code": str(code)}
    annotations.update({f"kohort.dev/{name}": text for name, text in (says or {}).items()})
    container = {"name": "main", "image": "busybox:1"}
    pods = {"containers": [container], "restartPolicy": restart, "terminationGracePeriodSeconds": 5}
    template = {"metadata": {"annotations": annotations}, "spec": pods}
    return {"metadata": {"name": "work"}, "spec": {"template": template, **spec}}


def indexed(count: int, run: str = "1", code: int = 0, says: Object | None = None, **spec: Any) -> Object:
    spec = {"completionMode": "Indexed", "completions": count, "parallelism": count, **spec}
    return job(run, code, says=says, **spec)


def on_exit_code(action: str, code: int) -> Object:
    return {"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [code]}}]}


# The clock, first because it takes a minute


@case()
async def the_clock_makes_a_job(stage: Stage) -> None:
    template = {"metadata": {"labels": {"made": "by-clock"}}, "spec": job()["spec"]}
    spec = {"schedule": "* * * * *", "jobTemplate": template, "concurrencyPolicy": "Forbid"}
    await stage.create({"metadata": {"name": "tick"}, "spec": spec}, CronJob.resource)
    # Until it is told, too: an edit in between would make the controller's write a conflict, and nobody tells it again.
    await stage.until("made", lambda: bool(stage.jobs) and "lastScheduleTime" in stage.cron_status)
    await stage.edit({"spec": {"suspend": True}}, "tick", CronJob.resource)
    await stage.until("succeeded", lambda: "lastSuccessfulTime" in stage.cron_status)
    await stage.until("not active", lambda: not stage.cron_status.get("active"))
    made = stage.jobs[0]["metadata"]
    facts = {"labels": made["labels"], "owner": made["ownerReferences"][0]["kind"], "notes": list(made["annotations"])}
    stage.seen.append(("the Job", facts))
    stage.seen.append(("the CronJob", {"status": sorted(stage.cron_status)}))


# Success


@case()
async def one_pod_succeeds(stage: Stage) -> None:
    await stage.create(job())
    await stage.until_finished()


@case()
async def a_running_job_tells_how_many_pods_are_ready(stage: Stage) -> None:
    await stage.create(job("forever", completions=3, parallelism=2))
    await stage.until_running(2)


@case()
async def four_completions_two_at_a_time(stage: Stage) -> None:
    await stage.create(job(completions=4, parallelism=2))
    await stage.until_finished()


@case()
async def a_work_queue_ends_with_its_pods(stage: Stage) -> None:
    await stage.create(job("2", parallelism=2))
    await stage.until_finished()


@case()
async def nothing_to_complete(stage: Stage) -> None:
    await stage.create(job(completions=0))
    await stage.until_finished()


@case()
async def more_parallelism_than_completions(stage: Stage) -> None:
    await stage.create(job(completions=2, parallelism=5))
    await stage.until_finished()


@case()
async def init_containers_and_two_containers(stage: Stage) -> None:
    made = job()
    made["spec"]["template"]["spec"]["initContainers"] = [{"name": "first", "image": "busybox:1"}]
    made["spec"]["template"]["spec"]["containers"].append({"name": "second", "image": "busybox:1"})
    await stage.create(made)
    await stage.until_finished()


# Failure


@case()
async def the_first_failure_is_the_last(stage: Stage) -> None:
    await stage.create(job(code=1, backoffLimit=0))
    await stage.until_finished()


@case()
async def a_failed_pod_is_replaced_after_a_while(stage: Stage) -> None:
    await stage.create(job(code=1, backoffLimit=1))
    await stage.until_finished()
    await stage.until("two pods seen", lambda: len(stage.pods) == 2)
    first, second = sorted(stage.pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
    ended = first["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]
    waited = parse_time(second["metadata"]["creationTimestamp"]) - parse_time(ended)
    stage.seen.append(("waited", {"for ten seconds": waited.total_seconds() >= 9}))


@case()
async def one_failure_stops_the_other_pods(stage: Stage) -> None:
    await stage.create(job("forever", completions=2, parallelism=2, backoffLimit=0))
    await stage.until_running(2)
    await stage.delete_pod(stage.running[0])
    await stage.until_finished()


@case()
async def containers_are_restarted_in_place(stage: Stage) -> None:
    await stage.create(job(restart="OnFailure", says={"fail-times": "1", "exit-code": "1"}, backoffLimit=4))
    await stage.until_finished()


@case()
async def too_many_restarts_in_place(stage: Stage) -> None:
    await stage.create(job(code=1, restart="OnFailure", backoffLimit=1))
    await stage.until_finished()


@case()
async def a_pod_deleted_by_hand_counts_as_failed_and_is_replaced(stage: Stage) -> None:
    await stage.create(job("forever"))
    await stage.until_running(1)
    first = stage.running[0]
    await stage.delete_pod(first)
    await stage.until("counted", lambda: stage.status.get("failed") == 1)
    await stage.until_running(1)


@case()
async def a_pod_is_replaced_only_when_it_has_ended(stage: Stage) -> None:
    made = job("forever", says={"stop-seconds": "12"}, podReplacementPolicy="Failed")
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 20
    await stage.create(made)
    await stage.until_running(1)
    await stage.delete_pod(stage.running[0])
    await stage.until("terminating", lambda: stage.status.get("terminating") == 1)
    await stage.see("on its way out")
    await stage.until("counted", lambda: stage.status.get("failed") == 1)
    await stage.until_running(1)


# Indexes


@case()
async def every_index_succeeds(stage: Stage) -> None:
    await stage.create(indexed(4, parallelism=2))
    await stage.until_finished()


@case()
async def some_indexes_fail_for_good(stage: Stage) -> None:
    await stage.create(indexed(4, says={"fail-indexes": "1,3"}, backoffLimitPerIndex=0))
    await stage.until_finished()


@case()
async def an_index_is_tried_again(stage: Stage) -> None:
    await stage.create(indexed(2, says={"fail-indexes": "0"}, backoffLimitPerIndex=1))
    await stage.until_finished()


@case()
async def more_indexes_fail_than_may(stage: Stage) -> None:
    await stage.create(
        indexed(3, says={"fail-indexes": "0-2"}, backoffLimitPerIndex=0, maxFailedIndexes=1, parallelism=1)
    )
    await stage.until_finished()


@case()
async def certain_indexes_are_enough(stage: Stage) -> None:
    made = indexed(3, "1", successPolicy={"rules": [{"succeededIndexes": "0"}]}, parallelism=1)
    await stage.create(made)
    await stage.until_finished()


@case()
async def the_others_are_stopped_when_one_index_is_enough(stage: Stage) -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    await stage.create(indexed(3, "16", successPolicy=policy, parallelism=1))
    await stage.until_running(1)
    started = parse_time(stage.running[0]["status"]["startTime"])
    await stage.until("half its time is over", lambda: (datetime.now(UTC) - started).total_seconds() > 8)
    await stage.edit({"spec": {"parallelism": 3}})
    await stage.until_running(3)
    await stage.until_finished()


@case()
async def a_number_of_successes_is_enough(stage: Stage) -> None:
    made = indexed(4, "1", successPolicy={"rules": [{"succeededIndexes": "1-3", "succeededCount": 2}]}, parallelism=1)
    await stage.create(made)
    await stage.until_finished()


@case()
async def an_elastic_job_shrinks(stage: Stage) -> None:
    await stage.create(indexed(3, "forever"))
    await stage.until_running(3)
    await stage.edit({"spec": {"completions": 1, "parallelism": 1}})
    await stage.until_running(1)
    await stage.until("two pods gone", lambda: len(stage.pods) == 1 and stage.status.get("terminating") == 0)


@case()
async def an_elastic_job_grows(stage: Stage) -> None:
    await stage.create(indexed(1, "forever"))
    await stage.until_running(1)
    await stage.edit({"spec": {"completions": 3, "parallelism": 3}})
    await stage.until_running(3)


# Policies


@case()
async def an_exit_code_fails_the_job(stage: Stage) -> None:
    await stage.create(job(code=42, podFailurePolicy=on_exit_code("FailJob", 42)))
    await stage.until_finished()


@case()
async def an_exit_code_is_ignored(stage: Stage) -> None:
    await stage.create(job(code=7, backoffLimit=0, podFailurePolicy=on_exit_code("Ignore", 7)))
    await stage.until("two failures", lambda: [pod["status"].get("phase") for pod in stage.pods] == ["Failed"] * 2)
    await stage.edit({"spec": {"suspend": True}})
    await stage.until("suspended", lambda: stage.has("Suspended") and not stage.status.get("terminating"))
    await stage.until_freed()


@case()
async def an_exit_code_counts(stage: Stage) -> None:
    await stage.create(job(code=5, backoffLimit=0, podFailurePolicy=on_exit_code("Count", 5)))
    await stage.until_finished()


@case()
async def an_exit_code_fails_its_index(stage: Stage) -> None:
    says = {"fail-indexes": "1", "exit-code": "9"}
    policy = on_exit_code("FailIndex", 9)
    await stage.create(indexed(2, code=9, says=says, backoffLimitPerIndex=3, podFailurePolicy=policy))
    await stage.until_finished()


@case()
async def a_condition_of_a_pod_fails_the_job(stage: Stage) -> None:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "example.com/Broken", "status": "True"}]}
    await stage.create(job("10", 1, podFailurePolicy={"rules": [rule]}))
    await stage.until_running(1)
    (pod,) = stage.running
    broken = {"type": "example.com/Broken", "status": "True"}
    await stage.set_pod_status(pod, {"conditions": [*pod["status"]["conditions"], broken]})
    await stage.until_finished()


# Suspension


@case()
async def a_job_waits_while_it_is_suspended(stage: Stage) -> None:
    await stage.create(job(suspend=True))
    await stage.until("suspended", lambda: stage.has("Suspended"))


@case()
async def a_job_that_waited_is_resumed(stage: Stage) -> None:
    await stage.create(job(suspend=True))
    await stage.until("suspended", lambda: stage.has("Suspended"))
    await stage.see("suspended")
    await stage.edit({"spec": {"suspend": False}})
    await stage.until_finished()


@case()
async def a_running_job_is_suspended_and_resumed(stage: Stage) -> None:
    await stage.create(job("forever", completions=3, parallelism=2))
    await stage.until_running(2)
    await stage.edit({"spec": {"suspend": True}})
    await stage.until("suspended", lambda: stage.has("Suspended") and not stage.pods)
    await stage.until("settled", lambda: stage.status.get("terminating") == 0)
    await stage.see("suspended")
    await stage.edit({"spec": {"suspend": False}})
    await stage.until_running(2)


@case()
async def directives_change_while_suspended(stage: Stage) -> None:
    await stage.create(job("forever", suspend=True))
    await stage.until("suspended", lambda: stage.has("Suspended"))
    selector = {"kubernetes.io/hostname": "node-1"}
    metadata = {"labels": {"team": "a"}, "annotations": {"example.com/note": "b"}}
    await stage.edit({"spec": {"template": {"metadata": metadata, "spec": {"nodeSelector": selector}}}})
    await stage.edit({"spec": {"suspend": False}})
    await stage.until_running(1)


@case()
async def a_deadline_counts_from_the_resumption(stage: Stage) -> None:
    await stage.create(job("forever", suspend=True, activeDeadlineSeconds=4))
    await stage.until("suspended", lambda: stage.has("Suspended"))
    await stage.edit({"spec": {"suspend": False}})
    await stage.until_finished()


# Edits and deadlines


@case()
async def less_parallelism_removes_pods(stage: Stage) -> None:
    await stage.create(job("forever", completions=5, parallelism=3))
    await stage.until_running(3)
    await stage.edit({"spec": {"parallelism": 1}})
    await stage.until_running(1)
    await stage.until("two pods gone", lambda: len(stage.pods) == 1 and stage.status.get("terminating") == 0)


@case()
async def more_parallelism_adds_pods(stage: Stage) -> None:
    await stage.create(job("forever", completions=5, parallelism=1))
    await stage.until_running(1)
    await stage.edit({"spec": {"parallelism": 3}})
    await stage.until_running(3)


@case()
async def no_parallelism_is_a_pause(stage: Stage) -> None:
    await stage.create(job(completions=2, parallelism=0))
    await stage.until("looked at", lambda: "startTime" in stage.status)
    await stage.see("paused")
    await stage.edit({"spec": {"parallelism": 2}})
    await stage.until_finished()


@case()
async def a_deadline_ends_the_job(stage: Stage) -> None:
    await stage.create(job("forever", completions=2, parallelism=2, activeDeadlineSeconds=4))
    await stage.until_finished()


@case()
async def a_deadline_is_set_while_it_runs(stage: Stage) -> None:
    await stage.create(job("forever"))
    await stage.until_running(1)
    await stage.edit({"spec": {"activeDeadlineSeconds": 3}})
    await stage.until_finished()


@case()
async def a_backoff_limit_is_lowered(stage: Stage) -> None:
    await stage.create(job(code=1, backoffLimit=6))
    await stage.until("one failure", lambda: stage.status.get("failed") == 1)
    await stage.edit({"spec": {"backoffLimit": 0}})
    await stage.until_finished()


# Going


@case()
async def a_finished_job_goes_at_once(stage: Stage) -> None:
    await stage.create(job(ttlSecondsAfterFinished=0))
    await stage.until("there", lambda: stage.job is not None)
    await stage.until_gone()
    await stage.until("no pods", lambda: not stage.pods)


@case()
async def a_failed_job_goes_after_a_while(stage: Stage) -> None:
    await stage.create(job(code=1, backoffLimit=0, ttlSecondsAfterFinished=8))
    await stage.until_finished()
    await stage.see("finished")
    await stage.until_gone()
    await stage.until("no pods", lambda: not stage.pods)


@case()
async def a_running_job_is_deleted_in_the_background(stage: Stage) -> None:
    await stage.create(job("forever", completions=2, parallelism=2))
    await stage.until_running(2)
    await stage.delete("Background")
    await stage.until("no pods", lambda: stage.job is None and not stage.pods)


@case("SuccessfulDelete")
async def a_running_job_is_deleted_in_the_foreground(stage: Stage) -> None:
    await stage.create(job("forever", completions=2, parallelism=2))
    await stage.until_running(2)
    await stage.delete("Foreground")
    await stage.until("no pods", lambda: stage.job is None and not stage.pods)


@case()
async def a_running_job_leaves_its_pods_behind(stage: Stage) -> None:
    await stage.create(job("forever", completions=2, parallelism=2))
    await stage.until_running(2)
    await stage.delete("Orphan")
    await stage.until_gone()
    await stage.until_freed()


@case()
async def a_finished_job_is_deleted_with_its_pods(stage: Stage) -> None:
    await stage.create(job(completions=2, parallelism=2))
    await stage.until_finished()
    await stage.delete("Foreground")
    await stage.until("no pods", lambda: stage.job is None and not stage.pods)


# Whose it is


@case()
async def somebody_else_manages_it(stage: Stage) -> None:
    await stage.create(job(managedBy="example.com/other"))
    await stage.until("there", lambda: stage.job is not None)


@case()
async def it_says_who_manages_it(stage: Stage) -> None:
    await stage.create(job(managedBy="kubernetes.io/job-controller"))
    await stage.until_finished()


@case()
async def a_selector_by_hand(stage: Stage) -> None:
    made = job(manualSelector=True, selector={"matchLabels": {"app": "mine"}})
    made["spec"]["template"]["metadata"]["labels"] = {"app": "mine"}
    await stage.create(made)
    await stage.until_finished()


@case("FailedCreate")
async def a_quota_leaves_no_room(stage: Stage) -> None:
    quota = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)
    await stage.create({"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}, quota)
    await stage.create(job("forever"))
    await stage.until("tried", lambda: "startTime" in stage.status)


@case()
async def no_node_has_room(stage: Stage) -> None:
    made = job()
    made["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100"}}
    await stage.create(made)
    await stage.until("waiting", lambda: stage.status.get("active") == 1)


@case()
async def a_suspended_clock_makes_none(stage: Stage) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}, "suspend": True}
    await stage.create({"metadata": {"name": "tick"}, "spec": spec}, CronJob.resource)
    await stage.until("there", lambda: stage.cron_job is not None)
