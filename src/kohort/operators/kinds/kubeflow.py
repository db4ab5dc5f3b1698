"""Stand-in for the Training Operator: a pod and a headless Service for each replica."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.kinds import PrinterColumn
from kohort.jobs.frameworks.kubeflow.training_jobs import (
    JAXJobFramework,
    PaddleJobFramework,
    PyTorchJobFramework,
    TFJobFramework,
    XGBoostJobFramework,
)
from kohort.operators.contract import ChildKind, ChildPlan, StandIn
from kohort.operators.kinds.kubeflow_job import JOB_NAME, ReplicaKind, TrainingJob
from kohort.operators.kinds.kubeflow_status import (
    new_report,
    report_start,
    report_suspension,
)
from kohort.operators.kinds.kubeflow_variables import (
    jax,
    paddle,
    pytorch,
    tensorflow,
    xgboost,
)
from kohort.operators.objects import SERVICES, later
from kohort.operators.schemas import ANYTHING, NUMBER, TEXT, TRUTH, list_of, map_of, one_of, with_fields

RUN_POLICY: Final = with_fields(
    suspend=TRUTH,
    managedBy=TEXT,
    cleanPodPolicy=one_of("None", "Running", "All", ""),
    ttlSecondsAfterFinished=NUMBER,
    activeDeadlineSeconds=NUMBER,
    backoffLimit=NUMBER,
    schedulingPolicy=with_fields(priorityClass=TEXT),
)
REPLICA_SPECS: Final = map_of(
    with_fields(
        replicas=NUMBER,
        restartPolicy=one_of("Always", "OnFailure", "Never", "ExitCode", ""),
        template=ANYTHING,
    )
)
_POLICY: Final = with_fields(
    minReplicas=NUMBER,
    maxReplicas=NUMBER,
    rdzvBackend=TEXT,
    rdzvPort=NUMBER,
    rdzvHost=TEXT,
    rdzvId=TEXT,
    rdzvConf=list_of(with_fields(key=TEXT, value=TEXT)),
    standalone=TRUTH,
    nProcPerNode=NUMBER,
    maxRestarts=NUMBER,
)


class TrainingStandIn(StandIn):
    """Jobs of one kind of the Training Operator."""

    operator: str = "Training Operator"
    children: tuple[ChildKind, ...] = (ChildKind(Pod.resource, JOB_NAME), ChildKind(SERVICES, JOB_NAME))
    columns: tuple[PrinterColumn, ...] = (PrinterColumn("State", ".status.conditions[-1:].type"),)

    def __init__(self, kind: ReplicaKind) -> None:
        self._kind = kind
        self.framework = kind.framework
        fields = {"runPolicy": RUN_POLICY, kind.framework.replica_specs: REPLICA_SPECS, **dict(kind.fields)}
        self.spec = with_fields(**fields)

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create the pods of a running job, and remove those of a suspended or finished one."""
        found = TrainingJob(self._kind, job, [each for each in children if each["kind"] == "Pod"])
        policy = found.run_policy
        report = new_report(job, self.resource.kind, now)
        if report.has("Succeeded") or report.has("Failed"):
            return found.ended(report, children)
        if policy.get("suspend") is True:
            report_suspension(report, job["metadata"]["name"])
            return ChildPlan(report.status, deletes=children, events=report.events)
        report_start(report, job["metadata"]["name"])
        deadline = later(report.status["startTime"], policy.get("activeDeadlineSeconds"))
        if why := found.exceeded_limit(now, deadline):
            report.finish("Failed", f"Job {job['metadata']['name']} has failed because {why}")
            return ChildPlan(report.status, events=report.events)
        found.report(report)
        names = {each["metadata"]["name"] for each in children if each["kind"] == "Service"}
        return ChildPlan(
            report.status, found.new_objects(names), (), found.obsolete(), report.events, check_at=deadline
        )


TRAINING_STAND_INS: Final[tuple[StandIn, ...]] = tuple(
    TrainingStandIn(each)
    for each in (
        ReplicaKind(
            PyTorchJobFramework(),
            "pytorch",
            "pytorchjob-port",
            23456,
            "OnFailure",
            pytorch,
            fields=(("nprocPerNode", TEXT), ("elasticPolicy", _POLICY)),
        ),
        ReplicaKind(
            TFJobFramework(),
            "tensorflow",
            "tfjob-port",
            2222,
            "Never",
            tensorflow,
            ("Chief", "Master"),
            fields=(("successPolicy", one_of("", "AllWorkers")),),
        ),
        ReplicaKind(XGBoostJobFramework(), "xgboost", "xgboostjob-port", 9999, "Never", xgboost),
        ReplicaKind(PaddleJobFramework(), "paddle", "master", 36543, "OnFailure", paddle),
        ReplicaKind(JAXJobFramework(), "jax", "jaxjob-port", 6666, "Never", jax, ()),
    )
)
