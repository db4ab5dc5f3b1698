"""Stand-in for LeaderWorkerSet: a StatefulSet of leaders, and one of workers for each leader.

The operator labels pods and sets their environment in a webhook. Here labels of a pod's place are added after its
creation, and variables that depend on it are read from the pod, so that the API is all that is needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from hashlib import sha1, sha256
from typing import Final

from kohort.api.codec import JsonObject, encode
from kohort.api.core.apps import StatefulSet
from kohort.api.core.pods import Pod
from kohort.api.kinds import PrinterColumn
from kohort.api.merge import difference
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import Framework
from kohort.jobs.frameworks.leaderworkerset import LeaderWorkerSetFramework
from kohort.jobs.frameworks.leaderworkerset.groups import (
    GROUP_INDEX_LABEL,
    INDEX_LABELS,
    LEADER_NAME_ANNOTATION,
    LEADER_PATH,
    NAME_LABEL,
    WORKER_PATH,
    group_size,
)
from kohort.jobs.frameworks.pods.parents import replicas_of
from kohort.jobs.objects import annotations, is_terminating, labels, metadata, value_at
from kohort.operators.contract import ChildKind, ChildPatch, ChildPlan, StandIn
from kohort.operators.objects import (
    SERVICES,
    child_of,
    controller_reference,
    headless_service,
    is_controlled_by,
    is_ready,
    set_condition,
)
from kohort.operators.schemas import ANYTHING, NUMBER, one_of, with_fields

_DOMAIN: Final = "leaderworkerset.sigs.k8s.io"
WORKER_INDEX: Final = INDEX_LABELS.pod
GROUP_KEY: Final = f"{_DOMAIN}/group-key"
REVISION: Final = f"{_DOMAIN}/template-revision-hash"
SIZE: Final = f"{_DOMAIN}/size"
_ORDINAL: Final = "apps.kubernetes.io/pod-index"


class LeaderWorkerSetStandIn(StandIn):
    """LeaderWorkerSets."""

    operator: str = "LeaderWorkerSet operator"
    framework: Framework = LeaderWorkerSetFramework()
    children: tuple[ChildKind, ...] = (
        ChildKind(StatefulSet.resource, NAME_LABEL),
        ChildKind(Pod.resource, NAME_LABEL),
        ChildKind(SERVICES, NAME_LABEL),
    )
    columns: tuple[PrinterColumn, ...] = (
        PrinterColumn("Ready", ".status.readyReplicas", "integer"),
        PrinterColumn("Desired", ".spec.replicas", "integer"),
    )
    spec: JsonObject = with_fields(
        replicas={**NUMBER, "default": 1},
        startupPolicy=one_of("", "LeaderCreated", "LeaderReady"),
        networkConfig=with_fields(subdomainPolicy=one_of("Shared", "UniquePerReplica")),
        leaderWorkerTemplate=with_fields(
            leaderTemplate=ANYTHING,
            workerTemplate=ANYTHING,
            size={**NUMBER, "default": 1},
            restartPolicy=one_of("", "RecreateGroupOnPodRestart", "None", "Default"),
        ),
    )

    def owner(self, child: JsonObject) -> ObjectKey | None:
        """By label, because only the leaders' StatefulSet belongs to the set directly."""
        name = labels(child).get(NAME_LABEL)
        return ObjectKey(metadata(child).get("namespace", ""), name) if name else None

    def owns(self, child: JsonObject, job: JsonObject) -> bool:
        """Everything that is labeled; the plan follows the owner references."""
        return True

    def plan(self, job: JsonObject, children: Sequence[JsonObject], now: datetime) -> ChildPlan:
        """Create the StatefulSets, label their pods, and restart groups as a whole."""
        found = _Groups(job, children)
        return ChildPlan(found.status(now), found.creates(), found.patches(), found.restarts())


class _Groups:
    """A LeaderWorkerSet and the objects of its groups."""

    def __init__(self, job: JsonObject, children: Sequence[JsonObject]) -> None:
        self._set = job
        self._name: str = job["metadata"]["name"]
        self._namespace: str = job["metadata"]["namespace"]
        self._size = group_size(job)
        self._children = children
        sets = [each for each in children if each["kind"] == "StatefulSet"]
        pods = [each for each in children if each["kind"] == "Pod"]
        self._leaders_set = next((each for each in sets if is_controlled_by(each, job)), None)
        self._leaders = self._pods_of(pods, self._leaders_set)
        self._worker_sets = {leader["metadata"]["name"]: _of(sets, leader) for leader in self._leaders}
        self._workers = {name: self._pods_of(pods, found) for name, found in self._worker_sets.items()}
        templates = [value_at(job, path) for path in (LEADER_PATH, WORKER_PATH)]
        self._revision = sha256(encode([templates, self._size])).hexdigest()[:10]

    @staticmethod
    def _pods_of(pods: Sequence[JsonObject], owner: JsonObject | None) -> list[JsonObject]:
        return [each for each in pods if owner is not None and is_controlled_by(each, owner)]

    @property
    def _is_shared(self) -> bool:
        return bool(value_at(self._set, ("spec", "networkConfig", "subdomainPolicy")) != "UniquePerReplica")

    def creates(self) -> Iterator[JsonObject]:
        """Services and StatefulSets that don't exist yet."""
        names = {(each["kind"], each["metadata"]["name"]) for each in self._children}
        if self._is_shared and ("Service", self._name) not in names:
            yield self._service(self._name, {NAME_LABEL: self._name})
        if self._leaders_set is None:
            yield self._leader_set()
        for leader in self._leaders:
            name = leader["metadata"]["name"]
            if not self._is_shared and ("Service", name) not in names:
                yield self._service(name, {NAME_LABEL: self._name, GROUP_INDEX_LABEL: _ordinal(leader)})
            if ("StatefulSet", name) not in names and self._may_have_workers(leader):
                yield self._worker_set(leader)

    def patches(self) -> list[ChildPatch]:
        """Labels of the places of pods, and changes of the leaders' StatefulSet."""
        found = [ChildPatch(each, {"metadata": {"labels": self._place(each)}}) for each in self._leaders]
        for workers in self._workers.values():
            found += (ChildPatch(each, {"metadata": {"labels": {WORKER_INDEX: _ordinal(each)}}}) for each in workers)
        found = [each for each in found if not each.patch["metadata"]["labels"].items() <= labels(each.child).items()]
        leaders = self._leaders_set
        if leaders is not None and leaders["spec"].get("replicas") != replicas_of(self._set):
            found.append(ChildPatch(leaders, {"spec": {"replicas": replicas_of(self._set)}}))
        if leaders is not None and labels(leaders).get(REVISION) != self._revision:
            template = difference(leaders["spec"]["template"], self._leader_set()["spec"]["template"])
            change = {"metadata": {"labels": {REVISION: self._revision}}, "spec": {"template": template}}
            found.append(ChildPatch(leaders, change))
        return found

    def restarts(self) -> list[JsonObject]:
        """Leaders of groups with a pod that restarted or was deleted: their workers are deleted with them."""
        policy = value_at(self._set, ("spec", "leaderWorkerTemplate", "restartPolicy"))
        if policy in ("None", "Default"):
            return []
        return [each for each in self._leaders if not is_terminating(each) and self._is_broken(each)]

    def status(self, now: datetime) -> JsonObject:
        """Counts of groups, and whether all of them are ready."""
        wanted = replicas_of(self._set)
        ready = [each for each in self._leaders if self._is_ready(each)]
        updated = [each for each in self._leaders if labels(each).get(REVISION) == self._revision]
        status = deepcopy(self._set.get("status") or {})
        status |= {
            "replicas": len(self._leaders),
            "readyReplicas": len(ready),
            "updatedReplicas": len(updated),
            "observedGeneration": metadata(self._set).get("generation", 0),
            "hpaPodSelector": f"{NAME_LABEL}={self._name},{WORKER_INDEX}=0",
        }
        is_done = len(ready) >= wanted and len(updated) == len(self._leaders)
        conditions = status.setdefault("conditions", [])
        for type_, is_met, reason, message in (
            ("Available", is_done, "AllGroupsReady", "All replicas are ready"),
            ("Progressing", not is_done, "GroupsProgressing", "Replicas are progressing"),
        ):
            met = "True" if is_met else "False"
            set_condition(conditions, {"type": type_, "status": met, "reason": reason, "message": message}, now)
        return status

    def _is_ready(self, leader: JsonObject) -> bool:
        workers = self._workers[leader["metadata"]["name"]]
        return is_ready(leader) and sum(map(is_ready, workers)) >= self._size - 1

    def _is_broken(self, leader: JsonObject) -> bool:
        name = leader["metadata"]["name"]
        workers_set = self._worker_sets[name]
        workers = [] if workers_set is None or is_terminating(workers_set) else self._workers[name]
        return any(map(_has_restarted, (leader, *workers))) or any(map(is_terminating, workers))

    def _may_have_workers(self, leader: JsonObject) -> bool:
        waits = value_at(self._set, ("spec", "startupPolicy")) == "LeaderReady"
        return self._size > 1 and not is_terminating(leader) and (is_ready(leader) or not waits)

    def _place(self, leader: JsonObject) -> dict[str, str]:
        key = f"{self._namespace}/{leader['metadata']['name']}"
        digest = sha1(key.encode(), usedforsecurity=False).hexdigest()
        return {GROUP_INDEX_LABEL: _ordinal(leader), GROUP_KEY: digest}

    def _service(self, name: str, selector: Mapping[str, str]) -> JsonObject:
        service = headless_service(name, self._set, selector, publishNotReadyAddresses=True)
        service["metadata"]["labels"] = {NAME_LABEL: self._name}
        return service

    def _leader_set(self) -> JsonObject:
        source = value_at(self._set, LEADER_PATH) or value_at(self._set, WORKER_PATH) or {}
        own = {NAME_LABEL: self._name, WORKER_INDEX: "0"}
        template = _template(source, {**own, REVISION: self._revision}, {SIZE: str(self._size)})
        subdomain = self._name if self._is_shared else "$(LWS_POD_NAME)"
        variables: list[JsonObject] = [
            {"name": "LWS_POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "LWS_LEADER_ADDRESS", "value": f"$(LWS_POD_NAME).{subdomain}.{self._namespace}"},
            {"name": "LWS_GROUP_SIZE", "value": str(self._size)},
            {"name": "LWS_WORKER_INDEX", "value": "0"},
        ]
        _prepend_variables(template, variables)
        spec = {"replicas": replicas_of(self._set), "serviceName": self._name, "template": template}
        found = self._stateful_set(self._name, own, spec)
        found["metadata"]["annotations"] = {f"{_DOMAIN}/replicas": str(replicas_of(self._set))}
        return found

    def _worker_set(self, leader: JsonObject) -> JsonObject:
        name = leader["metadata"]["name"]
        own = {NAME_LABEL: self._name, **self._place(leader)}
        marks = {SIZE: str(self._size), LEADER_NAME_ANNOTATION: name}
        revision = labels(leader).get(REVISION, "")
        template = _template(value_at(self._set, WORKER_PATH) or {}, {**own, REVISION: revision}, marks)
        subdomain = self._name if self._is_shared else name
        index = {"fieldRef": {"fieldPath": f"metadata.labels['{_ORDINAL}']"}}
        variables: list[JsonObject] = [
            {"name": "LWS_LEADER_ADDRESS", "value": f"{name}.{subdomain}.{self._namespace}"},
            {"name": "LWS_GROUP_SIZE", "value": str(self._size)},
            {"name": "LWS_WORKER_INDEX", "valueFrom": index},
        ]
        _prepend_variables(template, variables)
        spec = {"replicas": self._size - 1, "serviceName": subdomain, "ordinals": {"start": 1}, "template": template}
        found = self._stateful_set(name, own, spec)
        found["metadata"]["ownerReferences"] = [controller_reference(Pod.resource, leader)]
        return found

    def _stateful_set(self, name: str, selector: Mapping[str, str], spec: JsonObject) -> JsonObject:
        full = {**spec, "podManagementPolicy": "Parallel", "selector": {"matchLabels": dict(selector)}}
        found = child_of(StatefulSet.resource, name, self._set, spec=full)
        found["metadata"]["labels"] = {NAME_LABEL: self._name, REVISION: labels(spec["template"])[REVISION]}
        return found


def _of(sets: Sequence[JsonObject], leader: JsonObject) -> JsonObject | None:
    return next((each for each in sets if is_controlled_by(each, leader)), None)


def _ordinal(pod: JsonObject) -> str:
    return str(pod["metadata"]["name"]).rpartition("-")[2]


def _has_restarted(pod: JsonObject) -> bool:
    return any(each.get("restartCount") for each in value_at(pod, ("status", "containerStatuses")) or ())


def _template(source: JsonObject, own: Mapping[str, str], marks: Mapping[str, str]) -> JsonObject:
    template = deepcopy(source)
    meta = {"labels": {**labels(source), **own}, "annotations": {**annotations(source), **marks}}
    return {**template, "metadata": {**(template.get("metadata") or {}), **meta}}


def _prepend_variables(template: JsonObject, variables: Sequence[JsonObject]) -> None:
    """Set variables before those of the user, which may refer to them."""
    names = {each["name"] for each in variables}
    spec = template["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        kept = [each for each in container.get("env") or () if each.get("name") not in names]
        container["env"] = [*deepcopy(variables), *kept]
