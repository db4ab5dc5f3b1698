"""Objects in a cluster that migrates, and the observation of their state: queues, and jobs of every kind."""

from dataclasses import dataclass
from typing import Any, Final

from cluster.client import JsonClient

Json = Any
TEAM: Final = "/namespaces/team"
KUEUE_API: Final = "/apis/kueue.x-k8s.io/v1beta2"
JOBS: Final = f"/apis/batch/v1{TEAM}/jobs"
QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"
RUNS: Final = "kohort.dev/run-seconds"


# Objects


def stored_as_v1beta1() -> list[Json]:
    """Objects that were stored while v1beta1 was the storage version."""
    head = {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    pods = {"name": "main", "count": 1, "template": pod_template("1", "0")}
    return [
        {**head, "kind": "ResourceFlavor", "metadata": {"name": "pool-a"}, "spec": {"nodeLabels": {"pool": "a"}}},
        {**head, "kind": "ClusterQueue", "metadata": {"name": "large"}, "spec": queue_of(4)},
        {**head, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 100, "description": ""},
        {
            **head,
            "kind": "Workload",
            "metadata": {"name": "old", "namespace": "team"},
            "spec": {"queueName": "large", "podSets": [pods]},
        },
    ]


def stored_as_v1beta2() -> list[Json]:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    small = {**queue_of(1), "preemption": {"withinClusterQueue": "LowerPriority"}}
    locals_ = [
        {**head, "kind": "LocalQueue", "metadata": {"name": name, "namespace": "team"}, "spec": {"clusterQueue": name}}
        for name in ("large", "small", "tight", "wide")
    ]
    return [
        {**head, "kind": "ClusterQueue", "metadata": {"name": "small"}, "spec": small},
        {**head, "kind": "ClusterQueue", "metadata": {"name": "tight"}, "spec": queue_of(3)},
        {**head, "kind": "ClusterQueue", "metadata": {"name": "wide"}, "spec": queue_of(20)},
        {**head, "kind": "WorkloadPriorityClass", "metadata": {"name": "highest"}, "value": 1000, "description": ""},
        *locals_,
    ]


def queue_of(cpus: int) -> Json:
    flavor = {"name": "pool-a", "resources": [{"name": "cpu", "nominalQuota": cpus}]}
    return {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}


def pod_template(cpu: str, seconds: str) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"annotations": {RUNS: seconds}}, "spec": {"restartPolicy": "Never", "containers": [container]}}


def job(name: str, queue: str, *, pods: int = 1, seconds: str = "forever", priority: str = "") -> Json:
    """A Job of pods with one CPU each."""
    labels = {QUEUE: queue, **({PRIORITY: priority} if priority else {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team", "labels": labels},
        "spec": {"parallelism": pods, "completions": pods, "template": pod_template("1", seconds)},
    }


def single_pod(name: str, queue: str) -> Json:
    template = pod_template("1", "forever")
    metadata = {**template["metadata"], "name": name, "namespace": "team", "labels": {QUEUE: queue}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def other_workloads() -> list[Json]:
    """Other workloads with ten pods: partially admitted, with limits only, a pod group, serving workloads."""
    fewer, limited = job("fewer", "tight", pods=4), job("limited", "wide")
    fewer["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    limited["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    group = [single_pod(name, "wide") for name in ("group-0", "group-1")]
    for pod in group:
        pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "group"
        pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "2"
    return [fewer, limited, *group, serving("Deployment", "web"), serving("StatefulSet", "set")]


def serving(kind: str, name: str) -> Json:
    template = pod_template("1", "forever")
    template["metadata"]["labels"] = {"app": name}
    template["spec"]["restartPolicy"] = "Always"
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team", "labels": {QUEUE: "wide"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


# Observations


@dataclass(frozen=True)
class ClusterState:
    """All objects at one time, by name; Workloads by the name of their owner."""

    jobs: dict[str, Json]
    pods: dict[str, Json]
    workloads: dict[str, Json]
    workload_names: list[str]
    queues: dict[str, Json]
    events: list[tuple[str, str]]
    """Events: the name of the object, and the reason."""

    def __str__(self) -> str:
        """Jobs with their active pods, and the counts of queues."""
        jobs = {name: (each["spec"]["suspend"], len(self.active(name))) for name, each in self.jobs.items()}
        return f"suspended and pods: {jobs}; queues: { {name: self.counts(name) for name in self.queues} }"

    def identity(self, name: str) -> Json:
        """Everything that changes when a Job is stopped, restarted or replaced."""
        found = self.jobs[name]
        pods = sorted(each["metadata"]["uid"] for each in self.pods_of(name))
        status = {key: found["status"].get(key) for key in ("startTime", "completionTime", "active", "succeeded")}
        return found["metadata"]["uid"], found["metadata"]["generation"], found["spec"]["suspend"], status, pods

    def pods_of(self, name: str) -> list[Json]:
        return [each for each in self.pods.values() if _job_of(each) == name]

    def active(self, name: str) -> list[Json]:
        """Running pods of a Job."""
        return [each for each in self.pods_of(name) if _runs(each)]

    def runs(self, pod: str) -> bool:
        """Whether a pod exists and runs."""
        return pod in self.pods and _runs(self.pods[pod])

    def others(self) -> dict[str, str]:
        """The UIDs of running pods of other kinds."""
        kinds = ("fewer-", "limited-", "group-", "web-", "set-")
        return {
            name: each["metadata"]["uid"] for name, each in self.pods.items() if name.startswith(kinds) and _runs(each)
        }

    def quota_of(self, name: str) -> Json:
        """The admission of a Workload, and when it was admitted."""
        found = self.workloads[name]
        since = {each["type"]: each["lastTransitionTime"] for each in found["status"]["conditions"] if _is_on(each)}
        kept = [since.get(type_) for type_ in ("QuotaReserved", "Admitted", "Finished")]
        return found["metadata"]["uid"], found["spec"], found["status"].get("admission"), kept

    def has(self, name: str, type_: str) -> bool:
        """Whether a condition of a Workload is true."""
        conditions = self.workloads.get(name, {}).get("status", {}).get("conditions", ())
        return any(each["type"] == type_ and _is_on(each) for each in conditions)

    def used(self, queue: str) -> str:
        """Reserved CPUs in the status of a ClusterQueue."""
        return str(self.queues[queue]["status"]["flavorsReservation"][0]["resources"][0]["total"])

    def counts(self, queue: str) -> tuple[int, int, int]:
        """Admitted, reserving and pending Workloads in the status of a ClusterQueue."""
        status = self.queues[queue]["status"]
        return status["admittedWorkloads"], status["reservingWorkloads"], status["pendingWorkloads"]


def _is_on(condition: Json) -> bool:
    return bool(condition["status"] == "True")


def _runs(pod: Json) -> bool:
    return bool(pod["status"]["phase"] == "Running")


def _job_of(pod: Json) -> str:
    return str(pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name", ""))


def _owner(workload: Json) -> str:
    owners = workload["metadata"].get("ownerReferences") or [{"name": workload["metadata"]["name"]}]
    return str(owners[0]["name"])


def cluster_state(admin: JsonClient) -> ClusterState:
    def all_of(path: str) -> list[Json]:
        answer = admin.get(path)
        assert answer.accepted, answer.body
        return list(answer.body["items"])

    workloads = all_of(f"{KUEUE_API}{TEAM}/workloads")
    return ClusterState(
        jobs={each["metadata"]["name"]: each for each in all_of(JOBS)},
        pods={each["metadata"]["name"]: each for each in all_of(f"/api/v1{TEAM}/pods")},
        workloads={_owner(each): each for each in workloads},
        workload_names=sorted(each["metadata"]["name"] for each in workloads),
        queues={each["metadata"]["name"]: each for each in all_of(f"{KUEUE_API}/clusterqueues")},
        events=[(each["regarding"]["name"], each["reason"]) for each in all_of(f"/apis/events.k8s.io/v1{TEAM}/events")],
    )
