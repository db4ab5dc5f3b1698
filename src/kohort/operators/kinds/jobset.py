"""Stand-in for the JobSet operator: a Job for each replica of a replicated Job, and a headless Service."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha1
from itertools import chain
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.kinds import PrinterColumn
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.objects import annotations, labels, value_at
from kohort.operators.child_jobs import is_suspended, resume, suspend
from kohort.operators.contract import ChildKind, ChildPatch, ChildPlan, StandIn
from kohort.operators.kinds.jobset_status import (
    REPLICATED_JOB,
    RESTART_ATTEMPT,
    JobSetJobs,
    JobSetReport,
    end,
    finished,
    is_started,
    jobs_by_state,
    new_report,
    replicas,
    report_startup,
    report_suspension,
    restarts_of,
)
from kohort.operators.objects import SERVICES, child_of, headless_service, later
from kohort.operators.schemas import ANYTHING, NUMBER, TEXT, TRUTH, list_of, one_of, with_fields

_DOMAIN: Final = "jobset.sigs.k8s.io"
NAME: Final = f"{_DOMAIN}/jobset-name"


class JobSetStandIn(StandIn):
    """JobSets; their pods are created by the Job controller."""

    operator: str = "JobSet operator"
    framework: Framework = JobSetFramework()
    children: tuple[ChildKind, ...] = (ChildKind(Job.resource, NAME), ChildKind(SERVICES))
    columns: tuple[PrinterColumn, ...] = (
        PrinterColumn("TerminalState", ".status.terminalState"),
        PrinterColumn("Restarts", ".status.restarts"),
        PrinterColumn("Suspended", ".spec.suspend"),
    )
    spec: JsonObject = with_fields(
        suspend=TRUTH,
        managedBy=TEXT,
        ttlSecondsAfterFinished=NUMBER,
        replicatedJobs=list_of(
            with_fields(
                name=TEXT,
                groupName=TEXT,
                replicas=NUMBER,
                template=ANYTHING,
                dependsOn=list_of(with_fields(name=TEXT, status=one_of("Ready", "Complete"))),
            )
        ),
        network=with_fields(enableDNSHostnames=TRUTH, subdomain=TEXT, publishNotReadyAddresses=TRUTH),
        successPolicy=with_fields(operator=one_of("All", "Any"), targetReplicatedJobs=list_of(TEXT)),
        failurePolicy=with_fields(
            maxRestarts=NUMBER,
            restartStrategy=one_of("Recreate", "BlockingRecreate"),
            rules=list_of(
                with_fields(
                    name=TEXT,
                    action=one_of("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"),
                    onJobFailureReasons=list_of(TEXT),
                    onJobFailureMessagePatterns=list_of(TEXT),
                    targetReplicatedJobs=list_of(TEXT),
                )
            ),
        ),
        startupPolicy=with_fields(startupPolicyOrder=one_of("AnyOrder", "InOrder")),
        coordinator=with_fields(replicatedJob=TEXT, jobIndex=NUMBER, podIndex=NUMBER),
    )

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Apply the policies; otherwise create, suspend or resume Jobs."""
        jobs = jobs_by_state(job, [each for each in children if each["kind"] == "Job"])
        report = new_report(job, jobs, now)
        ended = finished(job)
        if ended is not None:
            expires = later(ended, job["spec"].get("ttlSecondsAfterFinished"))
            return ChildPlan(report.status, deletes=jobs.active, expires_at=expires)
        if end(job, jobs, report):
            return ChildPlan(report.status, deletes=jobs.earlier, events=report.events)
        starts = _StartPlan(job, jobs, report)
        creates, patches = starts.creates_and_patches()
        has_service = any(each["kind"] == "Service" for each in children)
        service = [] if has_service or not _has_host_names(job) else [_service(job)]
        return ChildPlan(report.status, chain(service, creates), patches, jobs.earlier, report.events)


@dataclass(frozen=True, slots=True)
class _StartPlan:
    """The Jobs of a JobSet that has not ended."""

    job_set: JsonObject
    jobs: JobSetJobs
    report: JobSetReport

    @property
    def _is_suspended(self) -> bool:
        return is_suspended(self.job_set)

    def creates_and_patches(self) -> tuple[Iterator[JsonObject], list[ChildPatch]]:
        """New Jobs, and Jobs to suspend or resume; reports the suspension and the start in order."""
        counts = {each["name"]: each for each in self.report.status["replicatedJobsStatus"]}
        all_jobs: list[JsonObject] = self.job_set["spec"].get("replicatedJobs") or []
        in_order = value_at(self.job_set, ("spec", "startupPolicy", "startupPolicyOrder")) == "InOrder"
        starting = list(self._starting(all_jobs, counts, stops=in_order and not self._is_suspended))
        is_ready = all(_is_done(each, counts) for each in all_jobs)
        report_suspension(self.report, is_suspended=self._is_suspended, is_ready=is_ready)
        if in_order and not self._is_suspended:
            report_startup(self.report, is_complete=all(is_started(each, counts[each["name"]]) for each in all_jobs))
        creates = (job for each in starting for job in self._new_jobs(each))
        if self._is_suspended:
            return creates, [suspend(each) for each in self._with_suspend(value=False)]
        names = {each["name"] for each in starting}
        resumed = [each for each in self._with_suspend(value=True) if labels(each).get(REPLICATED_JOB) in names]
        return creates, [patch for each in resumed for patch in self._resume(each)]

    def _starting(
        self, all_jobs: Sequence[JsonObject], counts: Mapping[str, JsonObject], *, stops: bool
    ) -> Iterator[JsonObject]:
        """Replicated Jobs whose Jobs may exist; in order, only the first that has not started."""
        sizes = {each["name"]: replicas(each) for each in all_jobs}
        for each in all_jobs:
            if not all(_is_reached(needed, counts, sizes) for needed in each.get("dependsOn") or ()):
                continue
            if stops and is_started(each, counts[each["name"]]):
                continue
            yield each
            if stops:
                return

    def _with_suspend(self, *, value: bool) -> list[JsonObject]:
        return [each for each in self.jobs.active if is_suspended(each) == value]

    def _new_jobs(self, replicated: JsonObject) -> Iterator[JsonObject]:
        strategy = value_at(self.job_set, ("spec", "failurePolicy", "restartStrategy"))
        if self.jobs.earlier and strategy == "BlockingRecreate":
            return
        taken = self.jobs.names()
        for index in range(replicas(replicated)):
            if _job_name(self.job_set, replicated, index) not in taken:
                yield new_job(self.job_set, replicated, index, is_suspended=self._is_suspended)

    def _resume(self, job: JsonObject) -> Iterator[ChildPatch]:
        own = labels(job)
        every = self.job_set["spec"]["replicatedJobs"]
        replicated = next(each for each in every if each["name"] == own[REPLICATED_JOB])
        wanted = new_job(self.job_set, replicated, int(own[f"{_DOMAIN}/job-index"]), is_suspended=False)
        return resume(job, wanted["spec"]["template"])


def new_job(job_set: JsonObject, replicated: JsonObject, index: int, *, is_suspended: bool) -> JsonObject:
    """The Job of one index."""
    template = deepcopy(replicated.get("template") or {})
    job = child_of(Job.resource, _job_name(job_set, replicated, index), job_set, spec=template.get("spec") or {})
    spec = job["spec"]
    spec.setdefault("completionMode", "Indexed")
    pods = spec.setdefault("template", {})
    pods.setdefault("spec", {}).setdefault("restartPolicy", "OnFailure")
    if _has_host_names(job_set):
        pods["spec"]["subdomain"] = subdomain(job_set)
    spec["suspend"] = is_suspended
    own = _identity(job_set, replicated, index)
    _describe(job["metadata"], template.get("metadata") or {}, own)
    _describe(pods.setdefault("metadata", {}), pods["metadata"], own)
    exclusive = f"alpha.{_DOMAIN}/exclusive-topology"
    for source in (annotations(job_set), annotations(template)):
        if exclusive in source:
            for metadata in (job["metadata"], pods["metadata"]):
                metadata["annotations"][exclusive] = source[exclusive]
    return job


def _describe(metadata: JsonObject, given: JsonObject, own: Mapping[str, str]) -> None:
    """Add what identifies a Job to labels and annotations."""
    metadata["labels"] = {**(given.get("labels") or {}), **own}
    metadata["annotations"] = {**(given.get("annotations") or {}), **own}


def _identity(job_set: JsonObject, replicated: JsonObject, index: int) -> dict[str, str]:
    """The labels of a Job and its pods, which are annotations too."""
    name, namespace = _job_name(job_set, replicated, index), job_set["metadata"].get("namespace", "")
    group = replicated.get("groupName") or "default"
    every: list[JsonObject] = job_set["spec"]["replicatedJobs"]
    before = every[: next(number for number, each in enumerate(every) if each["name"] == replicated["name"])]
    in_group = [each for each in every if (each.get("groupName") or "default") == group]
    before_in_group = [each for each in before if each in in_group]
    found = {
        NAME: job_set["metadata"]["name"],
        f"{_DOMAIN}/jobset-uid": job_set["metadata"]["uid"],
        REPLICATED_JOB: str(replicated["name"]),
        RESTART_ATTEMPT: str(restarts_of(job_set)),
        f"{_DOMAIN}/replicatedjob-replicas": str(replicas(replicated)),
        f"{_DOMAIN}/global-replicas": str(sum(map(replicas, every))),
        f"{_DOMAIN}/job-index": str(index),
        f"{_DOMAIN}/job-key": sha1(f"{namespace}/{name}".encode(), usedforsecurity=False).hexdigest(),
        f"{_DOMAIN}/job-global-index": str(sum(map(replicas, before)) + index),
        f"{_DOMAIN}/group-name": group,
        f"{_DOMAIN}/group-replicas": str(sum(map(replicas, in_group))),
        f"{_DOMAIN}/job-group-index": str(sum(map(replicas, before_in_group)) + index),
    }
    coordinator = job_set["spec"].get("coordinator")
    if coordinator is not None:
        indexes = f"{coordinator.get('jobIndex') or 0}-{coordinator.get('podIndex') or 0}"
        host = f"{job_set['metadata']['name']}-{coordinator['replicatedJob']}-{indexes}"
        found[f"{_DOMAIN}/coordinator"] = f"{host}.{subdomain(job_set)}"
    return found


def _job_name(job_set: JsonObject, replicated: JsonObject, index: int) -> str:
    return f"{job_set['metadata']['name']}-{replicated['name']}-{index}"


def _is_done(replicated: JsonObject, counts: Mapping[str, JsonObject]) -> bool:
    found = counts[replicated["name"]]
    return replicas(replicated) == int(found["ready"]) + int(found["succeeded"])


def _is_reached(needed: JsonObject, counts: Mapping[str, JsonObject], sizes: Mapping[str, int]) -> bool:
    """Whether a replicated Job that another one depends on has come far enough."""
    found = counts.get(needed["name"])
    if found is None:
        return False
    states = ("succeeded",) if needed["status"] == "Complete" else ("ready", "succeeded", "failed")
    return sizes[needed["name"]] == sum(int(found[state]) for state in states)


def _has_host_names(job_set: JsonObject) -> bool:
    return value_at(job_set, ("spec", "network", "enableDNSHostnames")) is not False


def subdomain(job_set: JsonObject) -> str:
    """The name of the headless Service."""
    return value_at(job_set, ("spec", "network", "subdomain")) or str(job_set["metadata"]["name"])


def _service(job_set: JsonObject) -> JsonObject:
    publishes = value_at(job_set, ("spec", "network", "publishNotReadyAddresses")) is not False
    selector = {NAME: job_set["metadata"]["name"]}
    return headless_service(subdomain(job_set), job_set, selector, publishNotReadyAddresses=publishes)
