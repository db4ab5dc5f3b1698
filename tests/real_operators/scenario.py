"""The life of a job beside its real operator: it waits, runs, is preempted, restored, resumed, deleted; one finishes.

Every kind lives through the same, in a namespace and a ClusterQueue of its own with quota for one job. What is to be
observed stays so until it was: a job that preempts or is preempted runs until it is deleted.
"""

from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Final

from kit.builders.kueue import make_cluster_queue, make_local_queue
from kohort.api.resource import Resource
from real_operators.job_kind import FOREVER, End, JobKind, Waiting
from real_operators.users import BRIEF, CLUSTER_QUEUES, FLAVOR, PODS, URGENT, WORKLOADS, User, condition, observed

Json = Any
_LOCAL_QUEUES: Final = Resource("kueue.x-k8s.io", "v1beta2", "LocalQueue", "localqueues", namespaced=True)
_NAMESPACES: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
_MOST_GENERATIONS: Final = 10
"""A start and a stop are two or three writes each; an operator and a queue that undo each other's exceed it at once."""


@dataclass(frozen=True, slots=True)
class JobScenario:
    """One kind of jobs in its namespace."""

    user: User
    kind: JobKind

    def set_up(self) -> None:
        """A namespace, and a queue without quota."""
        queue = make_cluster_queue(self.kind.name, "0", FLAVOR, preemption={"withinClusterQueue": "LowerPriority"})
        self.user.create(_NAMESPACES, {"metadata": {"name": self.kind.name}})
        self.user.create(CLUSTER_QUEUES, queue)
        self.user.create(_LOCAL_QUEUES, make_local_queue("q", self.kind.name, namespace=self.kind.name))

    def play(self) -> None:
        """All of it."""
        submitted = self._submit("j", FOREVER)
        self._waits_for_quota("j")
        self._set_quota(self.kind.cpus)
        self._runs("j")
        self._submit(URGENT, FOREVER, priority=URGENT)
        self._is_preempted_and_restored("j", submitted)
        self._runs(URGENT)
        self._delete(URGENT)
        self._runs("j")
        self._is_deleted("j")
        if self.kind.end is End.FINISHES:
            self._submit(BRIEF, "1")
            self._finishes(BRIEF)

    def _submit(self, name: str, seconds: str, priority: str = "") -> Json:
        labels = {"kueue.x-k8s.io/queue-name": "q"}
        if priority:
            labels["kueue.x-k8s.io/priority-class"] = priority
        resource = self.kind.resource
        content = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "namespace": self.kind.name, "labels": labels},
            "spec": self.kind.make_spec(name, seconds),
        }
        return self.user.create(resource, content)

    def _waits_for_quota(self, name: str) -> None:
        for workload in self._are_pending(name):
            pod_sets = {each["name"]: each["count"] for each in workload["spec"]["podSets"]}
            assert pod_sets == self.kind.pod_sets
        assert self._started_pods(name) == []

    def _set_quota(self, cpus: int) -> None:
        queue = self.user.get(CLUSTER_QUEUES, "", self.kind.name)
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = str(cpus)
        self.user.patch(CLUSTER_QUEUES, "", self.kind.name, {"spec": queue["spec"]})

    def _runs(self, name: str) -> None:
        """Its pods run where the flavor's nodes are: none began before the quota was reserved."""
        pods = observed(
            lambda: self._started_pods(name), lambda found: self._are_all_running(name, found), f"{name} runs"
        )
        selectors = [each["spec"].get("nodeSelector", {}).get("tier") for each in pods]
        assert selectors == [FLAVOR] * len(pods)
        self._all_have("Admitted", "True", name)

    def _is_preempted_and_restored(self, name: str, submitted: Json) -> None:
        for workload in self._all_have("QuotaReserved", "False", name):
            assert condition(workload, "Evicted") == ("True", "Preempted")
        observed(lambda: self._started_pods(name), lambda found: found == [], f"{name} has no pods")
        observed(
            lambda: self._job(name)["spec"],
            lambda spec: spec == submitted["spec"],
            f"{name} is as it was submitted: {submitted['spec']}",
        )

    def _finishes(self, name: str) -> None:
        for workload in self._all_have("Finished", "True", name):
            assert condition(workload, "Finished")[1] == "Succeeded"
        self._quota_is_free()

    def _is_deleted(self, name: str) -> None:
        assert self._job(name)["metadata"]["generation"] <= _MOST_GENERATIONS
        self._delete(name)
        observed(lambda: self._workloads(name), lambda found: found == [], f"{name} has no Workload")
        observed(lambda: self._pods(name), lambda found: found == [], f"the pods of {name} are gone")
        self._quota_is_free()

    def _quota_is_free(self) -> None:
        observed(self._usage, lambda usage: usage == {"0"}, "the quota is free")

    def _job(self, name: str) -> Json:
        return self.user.get(self.kind.resource, self.kind.name, name)

    def _delete(self, name: str) -> None:
        self.user.delete(self.kind.resource, self.kind.name, name)

    def _workloads(self, name: str) -> list[Json]:
        """The Workloads that the job owns."""
        owner = (self.kind.resource.kind, name)
        return [each for each in self.user.list(WORKLOADS, self.kind.name) if owner in _owners(each)]

    def _are_pending(self, name: str) -> list[Json]:
        """The Workloads of a job, once one was tried: those that no decision distinguishes from it are not."""

        def is_met(found: list[Json]) -> bool:
            reserved = {condition(each, "QuotaReserved")[0] for each in found}
            return len(found) == self.kind.workloads and "False" in reserved and "True" not in reserved

        return observed(lambda: self._workloads(name), is_met, f"{name} is pending")

    def _all_have(self, type_: str, status: str, name: str) -> list[Json]:
        """The Workloads of a job, once all of them have this condition."""

        def is_met(found: list[Json]) -> bool:
            has = [condition(each, type_)[0] == status for each in found]
            return len(has) == self.kind.workloads and all(has)

        return observed(lambda: self._workloads(name), is_met, f"{type_} of {name} is {status}")

    def _pods(self, name: str) -> list[Json]:
        found = self.user.list(PODS, self.kind.name)
        return [each for each in found if each["metadata"]["name"].startswith(f"{name}-")]

    def _started_pods(self, name: str) -> list[Json]:
        """All of its pods; those without gates, if a job of this kind waits with gated pods."""
        found = self._pods(name)
        if self.kind.waiting is Waiting.SUSPENDED:
            return found
        return [each for each in found if not each["spec"].get("schedulingGates")]

    def _are_all_running(self, name: str, pods: list[Json]) -> bool:
        running = [each["metadata"]["name"] for each in pods if each["status"].get("phase") == "Running"]
        expected = {pattern.format(name=name): count for pattern, count in self.kind.pods.items()}
        found = {pattern: sum(fnmatch(each, pattern) for each in running) for pattern in expected}
        return found == expected and len(pods) == len(running) == sum(expected.values())

    def _usage(self) -> set[str]:
        queue = self.user.get(CLUSTER_QUEUES, "", self.kind.name)
        flavors = queue["status"].get("flavorsUsage") or ()
        return {resource["total"] for flavor in flavors for resource in flavor["resources"]}


def _owners(found: Json) -> list[tuple[str, str]]:
    """Kind and name of each owner."""
    return [(each["kind"], each["name"]) for each in found["metadata"].get("ownerReferences") or ()]
