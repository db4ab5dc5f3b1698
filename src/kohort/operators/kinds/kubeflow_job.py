"""A job of the Training Operator: its pods and Services, and what its status follows from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework
from kohort.jobs.objects import is_terminating, labels, value_at
from kohort.operators.contract import ChildPlan
from kohort.operators.kinds.kubeflow_status import (
    KubeflowReport,
    ReplicaState,
    phase_counts,
    report_failures,
    report_leaders,
)
from kohort.operators.kinds.kubeflow_variables import (
    Generator,
    Replica,
    tensorflow,
)
from kohort.operators.objects import add_variables, headless_service, later, phase, pod_from_template

_DOMAIN: Final = "training.kubeflow.org"
JOB_NAME: Final = f"{_DOMAIN}/job-name"
REPLICA_TYPE: Final = f"{_DOMAIN}/replica-type"
REPLICA_INDEX: Final = f"{_DOMAIN}/replica-index"
LARGEST: Final = 10_000
"""Maximum number of pods of a job: each has the addresses of all."""
_RETRYABLE: Final = 128
"""The smallest exit code that restart policy ExitCode retries."""


@dataclass(frozen=True, slots=True)
class ReplicaKind:
    """What the kinds of the Training Operator differ in."""

    framework: ReplicaJobFramework
    container: str
    """Name of the container that gets the default port."""
    port_name: str
    port: int
    restart_policy: str
    variables: Generator
    leaders: tuple[str, ...] = ("Master",)
    """Replica types that determine the progress, if the job has them; else the workers do."""
    fields: tuple[tuple[str, JsonObject], ...] = ()
    """Supported fields that only this kind has."""


class TrainingJob:
    """A job and its pods."""

    def __init__(self, kind: ReplicaKind, job: JsonObject, pods: Sequence[JsonObject]) -> None:
        self._kind = kind
        self._job = job
        self._pods = pods
        self._specs = kind.framework.replicas_by_type(job)
        sets = {each.name: each for each in kind.framework.places(job)}
        self._sets = {type_: sets[type_.lower()] for type_ in kind.framework.replica_types if type_.lower() in sets}
        self._counts = {type_: each.count for type_, each in self._sets.items()}
        self._ports = {type_: self._port(type_) for type_ in self._sets}
        if sum(self._counts.values()) > LARGEST:
            raise ValueError(f"spec.{kind.framework.replica_specs} has more than {LARGEST} replicas")

    @property
    def run_policy(self) -> JsonObject:
        """How the job is run."""
        return value_at(self._job, ("spec", "runPolicy")) or {}

    def exceeded_limit(self, now: datetime, deadline: datetime | None) -> str:
        """Why the job fails now: the deadline, or restarts of containers; empty if it does not."""
        limit = self.run_policy.get("backoffLimit")
        if limit is not None and _restarts(self._pods) >= max(int(limit), 1):
            return "it has reached the specified backoff limit"
        return "it was active longer than specified deadline" if deadline is not None and deadline <= now else ""

    def report(self, report: KubeflowReport) -> None:
        """Report the pods by phase, and what follows from them."""
        states = {type_: self._state(type_) for type_ in self._sets}
        name, namespace = self._job["metadata"]["name"], self._job["metadata"]["namespace"]
        report.status["replicaStatuses"] = {
            type_: {**state.counts, "selector": self._selector(type_)} for type_, state in states.items()
        }
        leading = [states[each] for each in self._kind.leaders if each in states]
        if not leading and "Worker" in states:
            leading = [states["Worker"]]
        report_leaders(report, f"{namespace}/{name}", leading, is_done=self._is_done_early(states))
        report_failures(report, name, states)

    def ended(self, report: KubeflowReport, children: Sequence[JsonObject]) -> ChildPlan:
        """Clean up after the job by its policy."""
        policy = self.run_policy.get("cleanPodPolicy") or "None"
        deleted = list(children) if policy == "All" else []
        if policy == "Running":
            active = [each for each in self._pods if phase(each) in ("Pending", "Running")]
            names = {each["metadata"]["name"] for each in active}
            deleted = [each for each in children if each["metadata"]["name"] in names]
        if report.has("Succeeded"):
            for counts in report.status.get("replicaStatuses", {}).values():
                counts["succeeded"] = counts.get("succeeded", 0) + counts.pop("active", 0)
        expires = later(report.status.get("completionTime"), self.run_policy.get("ttlSecondsAfterFinished"))
        return ChildPlan(report.status, deletes=deleted, events=report.events, expires_at=expires)

    def new_objects(self, services: set[str]) -> Iterator[JsonObject]:
        """The pods and Services that don't exist yet."""
        pods = {each["metadata"]["name"] for each in self._pods}
        for type_, count in self._counts.items():
            for index in range(count):
                replica = Replica(self._job, type_, index, self._counts, self._ports)
                name = replica.host(type_, index)
                if name not in pods:
                    yield self._pod(replica, name)
                if name not in services:
                    yield self._service(replica, name)

    def obsolete(self) -> list[JsonObject]:
        """Pods to replace after a failure, and those beyond the number of replicas."""
        return [each for each in self._pods if self._is_beyond(each) or self._is_replaced(each)]

    def _state(self, type_: str) -> ReplicaState:
        own = [each for each in self._pods if _type_label(each) == type_.lower() and not self._is_beyond(each)]
        failed = [each for each in own if phase(each) == "Failed" and not is_terminating(each)]
        restarts = all(map(self._is_replaced, failed))
        return ReplicaState(self._counts[type_], phase_counts(own), restarts)

    def _is_done_early(self, states: dict[str, ReplicaState]) -> bool:
        """Whether the first success of a worker ends the job."""
        if any(each in states for each in self._kind.leaders) or "Worker" not in states:
            return False
        spec = self._job["spec"]
        if self._kind.framework.resource.kind == "TFJob":
            first = next((each for each in self._pods if _is_first_worker(each)), None)
            return first is not None and phase(first) == "Succeeded" and spec.get("successPolicy") != "AllWorkers"
        return spec.get("elasticPolicy") is not None and states["Worker"].of("succeeded") > 0

    def _is_beyond(self, pod: JsonObject) -> bool:
        count = {type_.lower(): count for type_, count in self._counts.items()}.get(_type_label(pod), 0)
        return int(labels(pod).get(REPLICA_INDEX, "0")) >= count

    def _is_replaced(self, pod: JsonObject) -> bool:
        if phase(pod) != "Failed":
            return False
        type_ = next((each for each in self._specs if each.lower() == _type_label(pod)), "")
        policy = self._restart_policy(type_)
        return policy in ("Always", "OnFailure") or (policy == "ExitCode" and self._exit_code(pod) >= _RETRYABLE)

    def _exit_code(self, pod: JsonObject) -> int:
        statuses = value_at(pod, ("status", "containerStatuses")) or ()
        own: JsonObject = next((each for each in statuses if each["name"] == self._kind.container), {})
        return int(value_at(own, ("state", "terminated", "exitCode")) or 0)

    def _restart_policy(self, type_: str) -> str:
        return (self._specs.get(type_) or {}).get("restartPolicy") or self._kind.restart_policy

    def _labels(self, replica: Replica) -> dict[str, str]:
        return {
            JOB_NAME: self._job["metadata"]["name"],
            f"{_DOMAIN}/operator-name": self._kind.framework.operator,
            REPLICA_TYPE: replica.type.lower(),
            REPLICA_INDEX: str(replica.index),
        }

    def _selector(self, type_: str) -> str:
        own = self._labels(Replica(self._job, type_, 0, self._counts, self._ports))
        return ",".join(f"{name}={value}" for name, value in sorted(own.items()) if name != REPLICA_INDEX)

    def _pod(self, replica: Replica, name: str) -> JsonObject:
        own = self._labels(replica)
        has_leader = any(each in self._counts for each in self._kind.leaders)
        if replica.type in self._kind.leaders or (not has_leader and replica.type == "Worker" and replica.index == 0):
            own[f"{_DOMAIN}/job-role"] = "master"
        pod = pod_from_template(self._sets[replica.type].template, name, self._job, own)
        policy = self._restart_policy(replica.type)
        pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy
        containers = pod["spec"].get("containers") or []
        for container in containers:
            ports = container.get("ports") or []
            if container.get("name") == self._kind.container and not any(map(self._is_port, ports)):
                container["ports"] = [*ports, {"name": self._kind.port_name, "containerPort": self._kind.port}]
        is_tensorflow = self._kind.variables is tensorflow  # sets no variables of other containers
        own_containers = [each for each in containers if each.get("name") == self._kind.container]
        add_variables(own_containers if is_tensorflow else containers, self._kind.variables(replica))
        return pod

    def _service(self, replica: Replica, name: str) -> JsonObject:
        own = self._labels(replica)
        ports = [{"name": self._kind.port_name, "port": self._ports[replica.type]}]
        service = headless_service(name, self._job, own, ports=ports)
        return {**service, "metadata": {**service["metadata"], "labels": own}}

    def _port(self, type_: str) -> int:
        containers = value_at(self._sets[type_].template, ("spec", "containers")) or ()
        ports = (
            port for each in containers if each["name"] == self._kind.container for port in each.get("ports") or ()
        )
        return next((int(port["containerPort"]) for port in ports if self._is_port(port)), self._kind.port)

    def _is_port(self, port: JsonObject) -> bool:
        return port.get("name") == self._kind.port_name


def _type_label(pod: JsonObject) -> str:
    return labels(pod).get(REPLICA_TYPE, "")


def _is_first_worker(pod: JsonObject) -> bool:
    return (_type_label(pod), labels(pod).get(REPLICA_INDEX)) == ("worker", "0")


def _restarts(pods: Sequence[JsonObject]) -> int:
    """Restarts of the containers of running pods."""
    running = (each for each in pods if phase(each) == "Running")
    return sum(
        int(status.get("restartCount") or 0)
        for pod in running
        for status in value_at(pod, ("status", "containerStatuses")) or ()
    )
