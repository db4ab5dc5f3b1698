"""Stand-in for the MPI Operator: a Job for the launcher, a pod for each worker, a hostfile and a headless Service."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kinds import PrinterColumn
from kohort.api.resource import Resource
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.kubeflow.mpijob import MPIJobFramework
from kohort.jobs.objects import value_at
from kohort.operators.child_jobs import is_suspended, resume, suspend
from kohort.operators.contract import ChildKind, ChildPatch, ChildPlan, StandIn
from kohort.operators.kinds.kubeflow import REPLICA_SPECS, RUN_POLICY
from kohort.operators.kinds.kubeflow_job import JOB_NAME, LARGEST, REPLICA_INDEX
from kohort.operators.kinds.kubeflow_status import KubeflowReport, new_report, phase_counts, report_start
from kohort.operators.objects import (
    SERVICES,
    add_variables,
    child_of,
    find_condition,
    has_condition,
    headless_service,
    is_ready,
    phase,
    pod_from_template,
)
from kohort.operators.schemas import NUMBER, TRUTH, one_of, with_fields

CONFIG_MAPS: Final = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
_MOUNT: Final = "/etc/mpi"
_HOSTFILE: Final = f"{_MOUNT}/hostfile"
_VOLUME: Final = "mpi-job-config"
_VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    "OpenMPI": {
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "OMPI_MCA_orte_default_hostfile": _HOSTFILE,
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    },
    "Intel": {
        "I_MPI_HYDRA_HOST_FILE": _HOSTFILE,
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10",
    },
    "MPICH": {"HYDRA_HOST_FILE": _HOSTFILE, "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"},
}
_SLOTS: Final = {"OpenMPI": "OMPI_MCA_orte_set_default_slots", "Intel": "I_MPI_PERHOST"}


class MPIJobStandIn(StandIn):
    """MPIJobs."""

    operator: str = "MPI Operator"
    framework: Framework = MPIJobFramework()
    children: tuple[ChildKind, ...] = (
        ChildKind(Pod.resource, JOB_NAME),
        ChildKind(Job.resource, "app"),
        ChildKind(CONFIG_MAPS, "app"),
        ChildKind(SERVICES, "app"),
    )
    columns: tuple[PrinterColumn, ...] = (PrinterColumn("State", ".status.conditions[-1:].type"),)
    spec: JsonObject = with_fields(
        runPolicy=RUN_POLICY,
        mpiReplicaSpecs=REPLICA_SPECS,
        slotsPerWorker=NUMBER,
        runLauncherAsWorker=TRUTH,
        launcherCreationPolicy=one_of("", "AtStartup", "WaitForWorkersReady"),
        mpiImplementation=one_of("", *_VARIABLES),
    )

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create workers and launcher of a running job, and remove the workers of a suspended or finished one."""
        found = MPIParts(job)
        workers = [each for each in children if each["kind"] == "Pod"]
        launcher = next((each for each in children if each["kind"] == "Job"), None)
        policy: JsonObject = value_at(job, ("spec", "runPolicy")) or {}
        report = new_report(job, "MPIJob", now)
        if report.has("Succeeded") or report.has("Failed"):
            return ChildPlan(report.status, deletes=_surplus(policy, workers), events=report.events)
        held = policy.get("suspend") is True
        _report(report, found.about, launcher, workers, wanted=found.worker_count, is_held=held)
        shared = found.shared(children)
        if held:
            patches = [suspend(launcher)] if launcher is not None and not is_suspended(launcher) else []
            return ChildPlan(report.status, shared, patches, workers, report.events)
        patches = found.config_changes(children, workers)
        if launcher is not None and is_suspended(launcher):
            patches += resume(launcher, found.launcher()["spec"]["template"])
        creates = (*shared, *found.missing_launcher(launcher, workers))
        return ChildPlan(report.status, _chain(creates, found.missing_workers(workers)), patches, (), report.events)


def _chain(first: Sequence[JsonObject], then: Iterator[JsonObject]) -> Iterator[JsonObject]:
    yield from first
    yield from then


def _surplus(policy: JsonObject, workers: Sequence[JsonObject]) -> list[JsonObject]:
    """Workers that the policy removes once the job has ended."""
    chosen = policy.get("cleanPodPolicy") or "None"
    if chosen == "None":
        return []
    return [each for each in workers if chosen == "All" or phase(each) in ("Pending", "Running")]


def _report(
    report: KubeflowReport,
    about: str,
    launcher: JsonObject | None,
    workers: Sequence[JsonObject],
    *,
    wanted: int,
    is_held: bool,
) -> None:
    name = about.partition("/")[2]
    counts = phase_counts(workers)
    report.status["replicaStatuses"] = {"Launcher": _launcher_counts(launcher), "Worker": counts}
    if is_held:
        report.set("Suspended", "MPIJob suspended")
        if report.has("Running"):
            report.set("Running", f"MPIJob {about} is suspended.", status="False", reason="Suspended")
        return
    report_start(report, name)
    if launcher is not None and has_condition(launcher, "Complete"):
        report.finish("Succeeded", f"MPIJob {about} successfully completed.")
    elif launcher is not None and has_condition(launcher, "Failed"):
        why = find_condition(launcher["status"]["conditions"], "Failed") or {}
        report.finish("Failed", why.get("message") or f"MPIJob {about} has failed")
    elif report.status["replicaStatuses"]["Launcher"].get("active") and counts.get("active", 0) == wanted:
        report.set("Running", f"MPIJob {about} is running.")


def _launcher_counts(launcher: JsonObject | None) -> JsonObject:
    status = (launcher or {}).get("status") or {}
    if launcher is not None and has_condition(launcher, "Complete"):
        return {"succeeded": 1}
    found = {"active": status.get("ready"), "failed": status.get("failed")}
    return {name: count for name, count in found.items() if count}


class MPIParts:
    """The objects of an MPIJob."""

    def __init__(self, job: JsonObject) -> None:
        self._job = job
        self._spec: JsonObject = job["spec"]
        self._name: str = job["metadata"]["name"]
        self._specs: JsonObject = self._spec.get("mpiReplicaSpecs") or {}
        worker = self._specs.get("Worker") or {}
        self.worker_count = int(worker.get("replicas") or 0)
        if self.worker_count > LARGEST:
            raise ValueError(f"spec.mpiReplicaSpecs has more than {LARGEST} workers")

    @property
    def about(self) -> str:
        """Namespace and name."""
        return f"{self._job['metadata']['namespace']}/{self._name}"

    @property
    def _launcher_works(self) -> bool:
        return self._spec.get("runLauncherAsWorker") is True

    def shared(self, children: Sequence[JsonObject]) -> list[JsonObject]:
        """The Service and the ConfigMap, if they don't exist yet."""
        present = {each["kind"] for each in children}
        selector = {JOB_NAME: self._name, "training.kubeflow.org/operator-name": "mpi-operator"}
        spec = {"publishNotReadyAddresses": True} if self._launcher_works else {}
        service = headless_service(self._name, self._job, selector, **spec)
        config = child_of(CONFIG_MAPS, f"{self._name}-config", self._job, data=self._data(()))
        made = [each for each in (service, config) if each["kind"] not in present]
        for each in made:
            each["metadata"]["labels"] = {"app": self._name}
        return made

    def config_changes(self, children: Sequence[JsonObject], workers: Sequence[JsonObject]) -> list[ChildPatch]:
        """The list of running workers in the ConfigMap, for elastic programs."""
        data = self._data(workers)
        configs = (each for each in children if each["kind"] == "ConfigMap")
        return [ChildPatch(each, {"data": data}) for each in configs if each.get("data") != data]

    def missing_workers(self, workers: Sequence[JsonObject]) -> Iterator[JsonObject]:
        """Workers that don't exist yet."""
        present = {each["metadata"]["name"] for each in workers}
        names = ((index, f"{self._name}-worker-{index}") for index in range(self.worker_count))
        return (self._worker(index, name) for index, name in names if name not in present)

    def missing_launcher(self, launcher: JsonObject | None, workers: Sequence[JsonObject]) -> list[JsonObject]:
        """The launcher, if it does not exist, and does not wait for workers."""
        waits = self._spec.get("launcherCreationPolicy") == "WaitForWorkersReady"
        is_due = not waits or sum(map(is_ready, workers)) >= self.worker_count
        return [self.launcher()] if launcher is None and is_due else []

    def launcher(self) -> JsonObject:
        """The Job of the launcher."""
        role = self._specs["Launcher"]
        template = self._pod(role, f"{self._name}-launcher", "launcher")
        if self._launcher_works:
            template["metadata"]["labels"][REPLICA_INDEX] = "0"
        self._add_launcher_variables(template["spec"]["containers"][:1])
        self._mount_config(template["spec"])
        template["spec"]["restartPolicy"] = _restart_policy(role, "OnFailure")
        policy = self._spec.get("runPolicy") or {}
        fields = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
        limits = {name: policy[name] for name in fields if policy.get(name) is not None}
        spec = {**limits, "podReplacementPolicy": "Failed", "template": template}
        job = child_of(Job.resource, f"{self._name}-launcher", self._job, spec=spec)
        job["metadata"]["labels"] = {"app": self._name}
        return job

    def _worker(self, index: int, name: str) -> JsonObject:
        role = self._specs["Worker"]
        template = self._pod(role, name, "worker")
        first = template["spec"]["containers"][0]
        if not first.get("command") and not first.get("args"):
            first["command"] = ["/usr/sbin/sshd", "-De"]
        add_variables([first], {"K_MPI_JOB_ROLE": "worker"})
        template["spec"]["restartPolicy"] = _restart_policy(role, "Never")
        place = {REPLICA_INDEX: str(index + self._launcher_works)}
        return pod_from_template(template, name, self._job, place)

    def _pod(self, role: JsonObject, name: str, kind: str) -> JsonObject:
        own = {
            JOB_NAME: self._name,
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-role": kind,
        }
        pod = pod_from_template(role.get("template") or {}, name, self._job, own)
        pod["spec"] |= {"hostname": name, "subdomain": self._name}
        kept = {key: pod["metadata"][key] for key in ("labels", "annotations") if key in pod["metadata"]}
        return {"metadata": kept, "spec": pod["spec"]}

    def _add_launcher_variables(self, containers: list[JsonObject]) -> None:
        kind = self._spec.get("mpiImplementation") or "OpenMPI"
        found = {"K_MPI_JOB_ROLE": "launcher", **_VARIABLES[kind]}
        if kind in _SLOTS:
            found[_SLOTS[kind]] = str(self._slots)
        if not self._launcher_works:
            found |= {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
        add_variables(containers, found)

    def _mount_config(self, spec: JsonObject) -> None:
        modes = {"hostfile": 0o444, "discover_hosts.sh": 0o555}
        items = [{"key": name, "path": name, "mode": mode} for name, mode in modes.items()]
        volume = {"name": _VOLUME, "configMap": {"name": f"{self._name}-config", "items": items}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        first = spec["containers"][0]
        first["volumeMounts"] = [*(first.get("volumeMounts") or ()), {"name": _VOLUME, "mountPath": _MOUNT}]

    @property
    def _slots(self) -> int:
        slots = self._spec.get("slotsPerWorker")
        return 1 if slots is None else int(slots)

    def _data(self, workers: Sequence[JsonObject]) -> dict[str, str]:
        first = [f"{self._name}-launcher"] if self._launcher_works else []
        every = [*first, *(f"{self._name}-worker-{index}" for index in range(self.worker_count))]
        running = [*first, *sorted(each["metadata"]["name"] for each in workers if phase(each) == "Running")]
        is_open = (self._spec.get("mpiImplementation") or "OpenMPI") == "OpenMPI"
        slots = f" slots={self._slots}" if is_open else f":{self._slots}"
        return {
            "hostfile": "".join(f"{self._host(each)}{slots}\n" for each in every),
            "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {self._host(each)}\n" for each in running),
        }

    def _host(self, pod: str) -> str:
        return f"{pod}.{self._name}.{self._job['metadata']['namespace']}.svc"


def _restart_policy(role: JsonObject, usual: str) -> str:
    policy = role.get("restartPolicy") or usual
    return "Never" if policy == "ExitCode" else str(policy)
