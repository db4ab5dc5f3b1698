"""Jobs that were never submitted are judged as the cluster would: in order, with what-ifs, and for every kind."""

import json
from typing import Any

import pytest

from insight.cluster_access import client_of, wait_for_admission
from jobs.train_jobs import make_runtime, make_train_job
from kit.apiserver import Object
from kit.builders.batch import make_job
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_resource_flavor,
    make_workload,
    make_workload_priority_class,
)
from kit.manager import ACTIVE_CONDITION, running_manager_harness
from kohort.api.documents import Document, read_documents
from kohort.api.meta import ObjectKey
from kohort.engine.explain import PreemptionOutlook
from kohort.insight.fit_check.candidates import CandidateReader, kinds_read_by
from kohort.insight.fit_check.evaluation import FitResult, evaluate_fit
from kohort.insight.fit_check.manifests import offline, split, with_manifests
from kohort.insight.fit_check.reads import ALSO_READ
from kohort.insight.listing import KindListing
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.jobs.frameworks.kubeflow.trainjob.runtimes import CLUSTER_RUNTIMES
from web.engine_fixture import NOON

QUEUE = "kueue.x-k8s.io/queue-name"
GROUP = "kueue.x-k8s.io/pod-group-name"
WITHIN = {"withinClusterQueue": "LowerPriority"}
TOTAL = "kueue.x-k8s.io/pod-group-total-count"


def documents(*objects: Object) -> list[Document]:
    return [
        each for number, obj in enumerate(objects) for each in read_documents(json.dumps(obj).encode(), f"f{number}")
    ]


def a_cluster(*objects: Object) -> Snapshot:
    return offline(
        documents(make_resource_flavor(), make_cluster_queue("cq", "4"), make_local_queue("lq", "cq"), *objects), NOON
    )


def verdicts(snapshot: Snapshot, *objects: Object, queue: str = "") -> list[FitResult]:
    about, asked = split(documents(*objects))
    known = with_manifests(snapshot, about) if about else snapshot
    return list(evaluate_fit(known, CandidateReader(known, "default", queue).candidates(asked)))


def starts(snapshot: Snapshot, *objects: Object, queue: str = "") -> list[bool]:
    return [each.starts for each in verdicts(snapshot, *objects, queue=queue)]


def spec(cpu: str = "1") -> Object:
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}


def serving(kind: str, replicas: int, cpu: str = "1") -> Object:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "labels": {QUEUE: "lq"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec(cpu)},
        },
    }


def pod(name: str, cpu: str = "1", group: str = "", total: int = 0) -> Object:
    metadata: dict[str, Any] = {"name": name, "labels": {QUEUE: "lq"}}
    if group:
        metadata["labels"][GROUP] = group
        metadata["annotations"] = {TOTAL: str(total)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec(cpu)}


def cron_job(cpu: str) -> Object:
    template = {"spec": make_job("x", "lq", cpu)["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "labels": {QUEUE: "lq"}},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": template},
    }


def test_a_job_fits_where_quota_is_free_and_not_where_none_is() -> None:
    assert starts(a_cluster(), make_job("etl", "lq", "4")) == [True]
    (verdict,) = verdicts(a_cluster(), make_job("etl", "lq", "5"))
    assert not verdict.starts
    assert verdict.explanation is not None
    assert "maximum capacity (4)" in verdict.explanation.message


def test_several_are_judged_in_order_each_after_those_before() -> None:
    jobs = [make_job(name, "lq", cpu) for name, cpu in (("a", "3"), ("b", "3"), ("c", "1"))]
    assert starts(a_cluster(), *jobs) == [True, False, True]
    strict = make_cluster_queue("cq", "4", queueingStrategy="StrictFIFO")
    assert starts(a_cluster(strict), *jobs) == [True, False, False], "behind one that waits in a strict queue"


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (make_workload("w", "lq", "4"), True),
        (make_workload("w", "lq", "5"), False),
        (cron_job("4"), True),
        (cron_job("5"), False),
        (serving("StatefulSet", 4), True),
        (serving("StatefulSet", 5), False),
        (serving("Deployment", 4), True),
        (serving("ReplicaSet", 5), False),
        (pod("p", "4"), True),
        (pod("p", "5"), False),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else None,
)
def test_every_kind_that_is_queued_is_judged(manifest: Object, expected: bool) -> None:
    assert starts(a_cluster(), manifest) == [expected]


def test_pods_of_a_deployment_start_one_by_one() -> None:
    (verdict,) = verdicts(a_cluster(), serving("Deployment", 6))
    assert (verdict.started, len(verdict.candidate.workloads), verdict.starts) == (4, 6, False)


def test_pods_of_a_group_start_together_or_not_at_all() -> None:
    pair = [pod("a", "2", "team", 2), pod("b", "2", "team", 2)]
    (verdict,) = verdicts(a_cluster(), *pair)
    assert (verdict.candidate.subject, verdict.starts) == ("pod group team", True)
    assert starts(a_cluster(), *pair, pod("alone", "1")) == [True, False]
    (alone,) = verdicts(a_cluster(), pair[0])
    assert alone.explanation is None
    assert alone.problem == "'team' group has fewer runnable pods than expected"


def test_a_priority_class_counts_and_must_be_there() -> None:
    urgent = make_job("etl", "lq", "4")
    urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    (verdict,) = verdicts(a_cluster(make_workload_priority_class("urgent", 50)), urgent)
    assert verdict.explanation is not None
    assert verdict.explanation.priority == 50
    (missing,) = verdicts(a_cluster(), urgent)
    assert missing.problem == 'WorkloadPriorityClass "urgent" not found'


def test_the_queue_may_come_from_an_annotation_the_default_or_the_command_line() -> None:
    annotated = make_job("etl", "", "1")
    annotated["metadata"]["annotations"] = {QUEUE: "lq"}
    assert starts(a_cluster(), annotated) == [True]
    assert starts(a_cluster(make_local_queue("default", "cq")), make_job("etl", "")) == [True]
    assert starts(a_cluster(), make_job("etl", "elsewhere"), queue="lq") == [True]
    (verdict,) = verdicts(a_cluster(), make_job("etl", ""))
    assert verdict.problem.startswith("No queue specified")


def test_a_missing_queue_is_reported_with_the_existing_ones() -> None:
    (verdict,) = verdicts(a_cluster(), make_job("etl", "ql-1"))
    assert not verdict.starts
    assert verdict.hints == (
        "create LocalQueue ql-1 in namespace default, or move the job to an existing one",
        "LocalQueues in namespace default: available: lq",
    )


def test_queues_among_the_manifests_are_taken_as_applied() -> None:
    assert starts(a_cluster(), make_cluster_queue("cq", "8"), make_job("etl", "lq", "8")) == [True]


def test_older_versions_and_lists_are_read() -> None:
    old = {**make_cluster_queue("cq", "8", cohort="all"), "apiVersion": "kueue.x-k8s.io/v1beta1"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [old, make_job("etl", "lq", "8")]}
    assert starts(a_cluster(), listed, make_cohort("all")) == [True]


def test_kinds_without_queueing_are_listed_separately() -> None:
    reader = CandidateReader(a_cluster(), "default", "")
    service, job, asking = documents(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
        make_job(),
        {"apiVersion": "x.io/v1", "kind": "Train", "metadata": {"name": "t", "labels": {QUEUE: "lq"}}},
    )
    assert [reader.is_queued(each) for each in (service, job, asking)] == [False, True, True]
    (candidate,) = reader.candidates([asking])
    assert candidate.problem.startswith("unsupported kind x.io/v1 Train: available: AppWrapper, CronJob, ")


def test_an_admission_check_between_quota_and_start_is_reported() -> None:
    ready = make_admission_check("budget", ACTIVE_CONDITION)
    (verdict,) = verdicts(
        a_cluster(ready, make_cluster_queue("cq", "4", **admission_checks("budget"))), make_job("etl", "lq", "4")
    )
    assert (verdict.starts, verdict.checks) == (False, ("budget",))


def test_a_pending_workload_that_would_start_comes_first() -> None:
    before = make_workload("before", "lq", "3")
    assert starts(a_cluster(before), make_job("etl", "lq", "2"), make_job("small", "lq", "1")) == [False, True]


def test_what_is_kept_for_the_head_of_another_queue_is_not_free() -> None:
    """SCH-340: a strict queue's head waits for its own four, of which two are free."""
    lender = make_cluster_queue("lender", "4", cohortName="all", queueingStrategy="StrictFIFO", preemption=WITHIN)
    borrower = make_cluster_queue("cq", "0", cohortName="all")
    running, large = make_workload("r", "own", "2", priority=9), make_workload("large", "own", "4", priority=5)
    snapshot = a_cluster(lender, borrower, make_local_queue("own", "lender"), held(running, "lender"), large)
    (verdict,) = verdicts(snapshot, make_job("etl", "lq", "2"))
    assert verdict.explanation is not None
    assert verdict.explanation.evaluation is not None
    assert not verdict.starts
    assert [key.name for key in verdict.explanation.evaluation.rivals] == ["large"]


def held(made: Object, queue: str) -> Object:
    """A Workload that has its quota."""
    usage = made["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
    assignment = {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": usage}
    true = {"status": "True", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{**true, "type": each, "reason": each} for each in ("QuotaReserved", "Admitted")]
    admission = {"clusterQueue": queue, "podSetAssignments": [assignment]}
    return {**made, "status": {"admission": admission, "conditions": conditions}}


async def test_on_a_cluster_the_preempted_are_named() -> None:
    async with running_manager_harness() as harness:
        preempting = make_cluster_queue("cq", "4", preemption={"withinClusterQueue": "LowerPriority"})
        await harness.create(
            make_resource_flavor(), preempting, make_local_queue("lq", "cq"), make_workload_priority_class("urgent", 50)
        )
        await harness.create(make_workload("low", "lq", "4"))
        await wait_for_admission(harness, "low")
        snapshot = await take_snapshot(client_of(harness.server), ALSO_READ)
    urgent = make_job("etl", "lq", "4")
    urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "urgent"
    (verdict,) = verdicts(snapshot, urgent)
    assert not verdict.starts
    assert verdict.explanation is not None
    assert verdict.explanation.evaluation is not None
    preemption = verdict.explanation.evaluation.preemption
    assert preemption.help is PreemptionOutlook.POSSIBLE
    assert [each.workload.name for each in preemption.victims] == ["low"]


def test_the_pods_of_a_train_job_are_those_of_its_runtime() -> None:
    snapshot, runtime = a_cluster(), make_runtime(policy={"numNodes": 4})
    listed = {**snapshot.found, CLUSTER_RUNTIMES: KindListing({ObjectKey("", "torch"): runtime})}
    known = Snapshot(snapshot.taken, listed, snapshot.rules)
    small, large = make_train_job(), make_train_job(trainer={"numNodes": 5})
    for each in (small, large):
        each["metadata"] |= {"namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}
    assert kinds_read_by(documents(small)) >= {CLUSTER_RUNTIMES}
    assert kinds_read_by(documents(make_job())) == set()
    assert starts(known, small) == [True]
    assert starts(known, large) == [False]
    (unknown,) = verdicts(snapshot, small)
    assert unknown.candidate.problem == "runtime 'torch' not found"
