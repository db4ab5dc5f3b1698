"""The objects of cases on one cluster once everything is reconciled, and the responses to their writes.

UIDs are replaced by the object that has them, and names of Workloads are recomputed by our rule from the owner's UID
(JOB-39). Times, versions, random suffixes and status are left out: they differ between any two clusters.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cluster.client import JsonClient, JsonResponse
from job_comparison.cases import Case
from kohort.api.gates import DEFAULT_GATES
from kohort.api.quantity import canonical
from kohort.api.resource import Resource
from kohort.jobs.names import workload_name

Json = Any

RESOURCES: Final = (
    Resource("", "v1", "Pod", "pods", namespaced=True),
    Resource("apps", "v1", "Deployment", "deployments", namespaced=True),
    Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True),
    Resource("batch", "v1", "Job", "jobs", namespaced=True),
    Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", namespaced=True),
    *(
        Resource("kubeflow.org", "v1", kind, f"{kind.lower()}s", namespaced=True)
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob")
    ),
    Resource("kubeflow.org", "v2beta1", "MPIJob", "mpijobs", namespaced=True),
    Resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", namespaced=True),
    *(
        Resource("ray.io", "v1", kind, f"{kind.lower()}s", namespaced=True)
        for kind in ("RayCluster", "RayJob", "RayService")
    ),
    Resource("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", namespaced=True),
)
WORKLOADS: Final = Resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads", namespaced=True)
MERGE_PATCH: Final = "application/merge-patch+json"

_CASE: Final = re.compile(r"case-\d\d-\d{5}")
_UID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANDOM: Final = (
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-RANDOM"),
    (re.compile(r"(case-\d\d-\d{5})-[a-z0-9]{8,10}-[a-z0-9]{5}"), r"\1-REPLICA-RANDOM"),
    (re.compile(r"(case-\d\d-\d{5}-)[a-z0-9]{8,10}(?=\"|$)"), r"\1REPLICASET"),
)
_VARIES: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")
_EXTRAS: Final = ("", *map(str, range(1, 10)), *(f"{one}_{other}" for one in range(1, 4) for other in range(4)))
"""Generations in the names of an elastic job's slices (JOB-40)."""
_MEMBERS: Final = 10
_FIELDS: Final = re.compile(
    r"([A-Za-z][\w.\[\]/\"' -]*?): (?:Invalid value|Required value|Forbidden|Unsupported value)"
)


def path_of(resource: Resource, namespace: str = "", name: str = "") -> str:
    """The path of objects or of one."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{resource.plural}" + (f"/{name}" if name else "")


def resource_of(obj: Json) -> Resource:
    """The resource of an object."""
    head = obj["apiVersion"], obj["kind"]
    return next(each for each in (*RESOURCES, WORKLOADS) if (each.api_version, each.kind) == head)


@dataclass(frozen=True, slots=True)
class WriteResponse:
    """Whether a write was accepted."""

    code: int
    message: str = ""
    fields: tuple[str, ...] = ()
    """The fields that the message names, with dots in place of brackets."""

    @staticmethod
    def of(response: JsonResponse) -> "WriteResponse":
        """The result of one write."""
        if response.accepted:
            return WriteResponse(200)
        message = str(response.body.get("message", "") if isinstance(response.body, dict) else response.body)
        fields = {re.sub(r"[][\".]+", ".", found.split()[-1]).strip(".") for found in _FIELDS.findall(message)}
        return WriteResponse(response.code, message, tuple(sorted(fields)))


@dataclass(slots=True)
class ObservedCluster:
    """One cluster with its responses to the writes of all cases."""

    admin: JsonClient
    responses: dict[str, list[WriteResponse]] = field(default_factory=lambda: defaultdict(list))

    def create(self, case: Case) -> None:
        """Create the objects of a case."""
        for obj in case.objects:
            path = path_of(resource_of(obj), case.namespace)
            self.responses[case.name].append(WriteResponse.of(self.admin.post(path, obj)))

    def change(self, case: Case) -> None:
        """Change the last object of a case."""
        last = case.objects[-1]
        path = path_of(resource_of(last), case.namespace, last["metadata"]["name"])
        self.responses[case.name].append(WriteResponse.of(self.admin.patch(path, case.change)))

    def is_accepted(self, case: Case) -> bool:
        """Whether all objects of a case exist."""
        return all(each.code == 200 for each in self.responses[case.name][: len(case.objects)])

    def objects(self) -> dict[str, dict[str, Json]]:
        """The objects of each case, by kind and name, without what varies."""
        found = [each for resource in RESOURCES for each in self._all(resource)]
        workloads = self._all(WORKLOADS)
        uids = {each["metadata"]["uid"]: f"UID of {_title(each)}" for each in (*found, *workloads)}
        names = workload_names(found)
        by_case: dict[str, dict[str, Json]] = defaultdict(dict)
        for each in (*found, *workloads):
            case = _CASE.search(each["metadata"]["name"])
            if case is not None:
                masked = _masked(each, uids, names)
                _add(by_case[case[0]], masked)
        return by_case

    def _all(self, resource: Resource) -> list[Json]:
        answer = self.admin.get(path_of(resource))
        assert answer.accepted, answer.body
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return [{**head, **each} for each in answer.body["items"]]


def workload_names(owners: Iterable[Json]) -> dict[str, str]:
    """The names that Workloads of these owners have by our rule, and what each is made of."""
    return {
        workload_name(resource, owner, obj["metadata"]["uid"], DEFAULT_GATES, extra): _masked_name(
            resource.kind, owner, extra
        )
        for obj in owners
        for resource in (resource_of(obj),)
        for owner in _owner_names(obj["metadata"]["name"])
        for extra in _EXTRAS
    }


def _owner_names(name: str) -> list[str]:
    return [name, *(f"{name}-{index}" for index in range(_MEMBERS))]


def _masked_name(kind: str, owner: str, extra: str) -> str:
    return f"{kind.lower()}-{owner}-HASH" + (f"-OF-{extra}" if extra else "")


def _masked(obj: Json, uids: Mapping[str, str], names: Mapping[str, str]) -> Json:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VARIES}
    metadata["labels"] = {key: each for key, each in metadata.get("labels", {}).items() if key != "pod-template-hash"}
    kept = {key: value for key, value in obj.items() if key != "status"}
    text = json.dumps({**kept, "metadata": metadata})
    text = _UID.sub(lambda found: uids.get(found[0], "UNKNOWN UID"), text)
    for name in set(_NAMED.findall(text)):
        text = text.replace(name, names.get(name, name))
    for pattern, mask in _RANDOM:
        text = pattern.sub(mask, text)
    return _normal(json.loads(text))


def _normal(value: Json, name: str = "") -> Json:
    """The same with quantities in their canonical form, and owners in a fixed order."""
    if isinstance(value, dict):
        if name in ("requests", "limits"):
            return {each: canonical(amount) for each, amount in value.items()}
        return {each: _normal(member, each) for each, member in value.items()}
    if isinstance(value, list):
        items = [_normal(each) for each in value]
        return sorted(items, key=json.dumps) if name == "ownerReferences" else items
    return value


_NAMED: Final = re.compile(r"[a-z]+-case-\d\d-\d{5}[a-z0-9-]*-[0-9a-f]{5}\b")


def _title(obj: Json) -> str:
    return f"{obj['kind']} {obj['metadata']['name']}"


def _add(found: dict[str, Json], masked: Json) -> None:
    """Add an object; several of one masked name are equal replicas, or differ in their content."""
    title = _title(masked)
    number = sum(each.startswith(title) for each in found)
    found[f"{title} ({number + 1})" if number else title] = masked
