"""Stand-ins for KubeRay: the clusters of RayJobs and RayServices, and what submits a RayJob."""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.kinds import PrinterColumn
from kohort.api.merge import difference
from kohort.api.times import format_time
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework
from kohort.jobs.frameworks.ray.types import RayCluster
from kohort.jobs.objects import metadata, value_at
from kohort.operators.contract import ChildKind, ChildPatch, ChildPlan, StandIn
from kohort.operators.kinds.ray_cluster import CLUSTER_FIELDS, OPERATOR, set_state
from kohort.operators.kinds.ray_pods import (
    CLUSTER,
    NODE_TYPE,
    ORIGIN,
    ORIGIN_KIND,
    head_host,
    name_suffix,
)
from kohort.operators.objects import (
    SERVICES,
    add_variables,
    child_of,
    has_condition,
    later,
)
from kohort.operators.schemas import ANYTHING, NUMBER, TEXT, TRUTH, one_of, with_fields

_RAY_JOBS: Final = RayJobFramework()


class RayJobStandIn(StandIn):
    """RayJobs: a RayCluster, and a Job that submits to it."""

    operator: str = OPERATOR
    framework: Framework = _RAY_JOBS
    children: tuple[ChildKind, ...] = (ChildKind(RayCluster.resource, ORIGIN), ChildKind(Job.resource, ORIGIN))
    columns: tuple[PrinterColumn, ...] = (
        PrinterColumn("Job Status", ".status.jobStatus"),
        PrinterColumn("Deployment Status", ".status.jobDeploymentStatus"),
        PrinterColumn("Ray Cluster Name", ".status.rayClusterName"),
    )
    spec: JsonObject = with_fields(
        suspend=TRUTH,
        managedBy=TEXT,
        entrypoint=TEXT,
        submissionMode={**one_of("K8sJobMode"), "default": "K8sJobMode"},
        submitterPodTemplate=ANYTHING,
        submitterConfig=with_fields(backoffLimit=NUMBER),
        shutdownAfterJobFinishes=TRUTH,
        ttlSecondsAfterFinished=NUMBER,
        activeDeadlineSeconds=NUMBER,
        jobId=TEXT,
        rayClusterSpec=CLUSTER_FIELDS,
    )

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create the cluster, then the submitter; remove both when the job is suspended, the cluster when it ends."""
        status = deepcopy(job.get("status") or {})
        cluster = next((each for each in children if each["kind"] == "RayCluster"), None)
        if status.get("jobDeploymentStatus") in ("Complete", "Failed"):
            return _ended_job(job, status, cluster, now)
        if job["spec"].get("suspend") is True:
            return ChildPlan(_suspended_job(status, children), deletes=children)
        if status.get("jobDeploymentStatus") in (None, "Suspended", "Suspending"):
            if children:
                return ChildPlan(status, deletes=children)  # of the run before
            status = _new_run(job, now)
        submitter = next((each for each in children if each["kind"] == "Job"), None)
        creates = (
            [] if cluster is not None else [_ray_cluster(job, status["rayClusterName"], "RayJob", "rayClusterSpec")]
        )
        state = value_at(cluster or {}, ("status", "state")) or ""
        status["rayClusterStatus"] = (cluster or {}).get("status") or {}
        if submitter is None and state == "ready" and cluster is not None:
            creates.append(_submitter(job, cluster, status))
            status["jobDeploymentStatus"] = "Running"
        deadline = later(status["startTime"], job["spec"].get("activeDeadlineSeconds"))
        _report_submitter(status, submitter, now, is_late=deadline is not None and deadline <= now)
        return ChildPlan(status, creates, check_at=deadline)


def _new_run(job: JsonObject, now: datetime) -> JsonObject:
    """The status at the start of a run; its names follow from the start, so that no run uses those of another."""
    name, since = job["metadata"]["name"], format_time(now)
    suffix = name_suffix(job["metadata"]["uid"], since)
    return {
        "jobDeploymentStatus": "Initializing",
        "rayClusterName": f"{name}-{suffix}",
        "jobId": job["spec"].get("jobId") or f"{name}-{suffix}",
        "startTime": since,
    }


def _suspended_job(status: JsonObject, children: Sequence[JsonObject]) -> JsonObject:
    if children:
        return {**status, "jobDeploymentStatus": "Suspending"}
    return {"jobDeploymentStatus": "Suspended"}


def _ended_job(job: JsonObject, status: JsonObject, cluster: JsonObject | None, now: datetime) -> ChildPlan:
    """Delete the cluster of a finished job, if it asks for that."""
    if cluster is None or job["spec"].get("shutdownAfterJobFinishes") is not True:
        return ChildPlan(status)
    due = later(status.get("endTime"), job["spec"].get("ttlSecondsAfterFinished") or 0)
    is_due = due is None or due <= now
    return ChildPlan(status, deletes=[cluster] if is_due else (), check_at=None if is_due else due)


def _report_submitter(status: JsonObject, submitter: JsonObject | None, now: datetime, *, is_late: bool) -> None:
    """Derive the state of the Ray job from the Job that submits it and waits for it."""
    if submitter is not None and has_condition(submitter, "Complete"):
        _finish(status, now, "Complete", "SUCCEEDED", "Job finished successfully.")
    elif submitter is not None and has_condition(submitter, "Failed"):
        _finish(status, now, "Failed", "FAILED", "The submitter Job failed.")
        status["reason"] = "AppFailed"
    elif is_late:
        _finish(
            status, now, "Failed", status.get("jobStatus") or "", "The RayJob has passed its activeDeadlineSeconds."
        )
        status["reason"] = "DeadlineExceeded"
    elif submitter is not None:
        status["jobStatus"] = "RUNNING" if value_at(submitter, ("status", "ready")) else "PENDING"


def _finish(status: JsonObject, now: datetime, deployment: str, job_status: str, message: str) -> None:
    status |= {"jobDeploymentStatus": deployment, "jobStatus": job_status, "message": message}
    status["endTime"] = format_time(now)


def _ray_cluster(owner: JsonObject, name: str, kind: str, field: str) -> JsonObject:
    """The RayCluster of a RayJob or RayService, with its labels and annotations."""
    cluster = child_of(RayCluster.resource, name, owner, spec=deepcopy(owner["spec"][field]))
    given = metadata(owner)
    origin = {ORIGIN: given["name"], ORIGIN_KIND: kind}
    annotations = {
        key: value
        for key, value in (given.get("annotations") or {}).items()
        if key != "kubectl.kubernetes.io/last-applied-configuration"
    }
    cluster["metadata"] |= {"labels": {**(given.get("labels") or {}), **origin}, "annotations": annotations}
    return cluster


def _submitter(job: JsonObject, cluster: JsonObject, status: JsonObject) -> JsonObject:
    """The Job that submits the entrypoint and waits for its end."""
    template = deepcopy(job["spec"].get("submitterPodTemplate") or _RAY_JOBS.default_submitter(job))
    container = template["spec"]["containers"][0]
    address = f"http://{head_host(cluster)}:8265"
    if not container.get("command"):
        command = f"ray job submit --address {address} --submission-id {status['jobId']}"
        container["command"] = ["/bin/bash", "-c", "--"]
        container["args"] = [f"{command} -- {job['spec'].get('entrypoint') or ''}"]
    variables = {"RAY_DASHBOARD_ADDRESS": address, "RAY_JOB_SUBMISSION_ID": status["jobId"], "PYTHONUNBUFFERED": "1"}
    add_variables([container], variables)
    template["spec"].setdefault("restartPolicy", "Never")
    limit = value_at(job, ("spec", "submitterConfig", "backoffLimit"))
    spec = {"backoffLimit": 2 if limit is None else limit, "template": template}
    made = child_of(Job.resource, job["metadata"]["name"], job, spec=spec)
    made["metadata"]["labels"] = {
        ORIGIN: job["metadata"]["name"],
        ORIGIN_KIND: "RayJob",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    return made


class RayServiceStandIn(StandIn):
    """RayServices: a RayCluster, and the Services of its head and of its applications."""

    operator: str = OPERATOR
    framework: Framework = RayServiceFramework()
    children: tuple[ChildKind, ...] = (ChildKind(RayCluster.resource, ORIGIN), ChildKind(SERVICES, ORIGIN))
    columns: tuple[PrinterColumn, ...] = (
        PrinterColumn("Service Status", '.status.conditions[?(@.type=="Ready")].status'),
    )
    spec: JsonObject = with_fields(managedBy=TEXT, rayClusterConfig=CLUSTER_FIELDS)

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create the cluster, and suspend or resume it; the service is ready when its cluster is."""
        name = f"{job['metadata']['name']}-{name_suffix(job['metadata']['uid'])}"
        status = deepcopy(job.get("status") or {})
        clusters = [each for each in children if each["kind"] == "RayCluster"]
        creates = [] if clusters else [_ray_cluster(job, name, "RayService", "rayClusterConfig")]
        wanted = deepcopy(job["spec"]["rayClusterConfig"])
        patches = [
            ChildPatch(each, {"spec": difference(each["spec"], wanted)}) for each in clusters if each["spec"] != wanted
        ]
        is_up = any(value_at(each, ("status", "state")) == "ready" for each in clusters)
        reason = "NonZeroServeEndpoints" if is_up else "Initializing"
        set_state(status.setdefault("conditions", []), "Ready", now, is_true=is_up, reason=reason)
        status["activeServiceStatus"] = {"rayClusterName": name}
        status["observedGeneration"] = metadata(job).get("generation", 0)
        present = {each["metadata"]["name"] for each in children if each["kind"] == "Service"}
        services = (each for each in _services(job, name) if each["metadata"]["name"] not in present)
        return ChildPlan(status, (*creates, *services), patches)


def _is_suspended(spec: JsonObject) -> bool:
    return spec.get("suspend") is True


def _services(service: JsonObject, cluster: str) -> Iterable[JsonObject]:
    name = service["metadata"]["name"]
    for suffix, selector, port in (
        ("head-svc", {CLUSTER: cluster, NODE_TYPE: "head"}, 8265),
        ("serve-svc", {CLUSTER: cluster, "ray.io/serve": "true"}, 8000),
    ):
        spec = {"selector": selector, "ports": [{"name": suffix.removesuffix("-svc"), "port": port}]}
        made = child_of(SERVICES, f"{name}-{suffix}", service, spec=spec)
        made["metadata"]["labels"] = {ORIGIN: name, ORIGIN_KIND: "RayService"}
        yield made
