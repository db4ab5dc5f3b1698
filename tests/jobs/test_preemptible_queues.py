"""Jobs that lose their state when they are stopped, in queues that preempt (JOB-191)."""

from typing import Any

import pytest

from jobs.actions import pass_harness
from jobs.test_pipelinerun import RUNS, pipeline_run
from kit.builders.kueue import make_cluster_queue
from kohort.api.codec import from_json
from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.validation import validate_job

Json = Any

SUFFIX = "and a PipelineRun that is preempted loses its state: use a queue without preemption"


def findings(policy: str = "", mode: str = "run", *, is_new: bool = True, **spec: Json) -> tuple[list[str], list[str]]:
    """Errors and warnings about a run in a queue with this spec; a `limit` is that of borrowing."""
    queue = make_cluster_queue("cq", "4")
    limit = spec.pop("limit", None)
    if limit is not None:
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = limit
    queue["spec"] |= spec
    queue["metadata"]["annotations"] = {"kohort.dev/non-suspendable-policy": policy} if policy else {}
    harness, obj = pass_harness(), pipeline_run(mode, spec={"timeouts": {"pipeline": "8h"}})
    harness.cluster_queues["default/q"] = from_json(queue, ClusterQueue)
    errors, warnings = validate_job(RUNS, obj, None if is_new else obj, JobContext(harness, is_new=is_new))
    return [str(each) for each in errors], warnings


PREEMPTS: Json = {"preemption": {"withinClusterQueue": "LowerPriority"}}


def test_a_queue_whose_workloads_preempt_each_other_gives_a_warning() -> None:
    cause = "metadata.labels[kueue.x-k8s.io/queue-name]: workloads of ClusterQueue cq preempt each other"
    errors, (warning,) = findings(**PREEMPTS)
    assert errors == []
    assert warning == f"{cause} (preemption.withinClusterQueue), {SUFFIX}"


@pytest.mark.parametrize("limit", [None, "1"])
def test_a_queue_that_may_borrow_gives_a_warning(limit: str | None) -> None:
    _, (warning,) = findings(cohortName="c", limit=limit)
    assert "are preempted while they borrow quota" in warning


@pytest.mark.parametrize("spec", [{}, {"cohortName": "c", "limit": "0"}])
def test_a_queue_without_preemption_gives_none(spec: Json) -> None:
    assert findings(**spec) == ([], [])


def test_the_policy_of_the_queue_rejects_or_ignores_them() -> None:
    (error,), warnings = findings("Reject", **PREEMPTS)
    assert SUFFIX in error
    assert warnings == []
    assert findings("Ignore", **PREEMPTS) == ([], [])
    assert findings("reject", **PREEMPTS)[0] == [], "an unknown value counts as Warn"


def test_only_new_jobs_that_lose_their_state_matter() -> None:
    assert findings("Reject", "pods", **PREEMPTS) == ([], [])
    assert findings("Reject", is_new=False, **PREEMPTS) == ([], [])
