"""Builders of manifests for tests of whole sets: one line per object, plain JSON as a user would write it."""

from typing import Any

from api.kueue.objects import flavor_quotas, group, quota
from kohort.api.documents import Document, read_documents
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.manifests.checking import Checker, ManifestReport
from kohort.api.manifests.findings import FindingSeverity

Json = Any
FILE = "set.yaml"
QUEUE = "kueue.x-k8s.io/queue-name"


def report(*objects: Json, gates: FeatureGates = DEFAULT_GATES) -> ManifestReport:
    checker = Checker(gates)
    checker.read(Document(each, FILE) for each in objects)
    return checker.report()


def report_of_text(text: str) -> ManifestReport:
    checker = Checker(DEFAULT_GATES)
    checker.read(read_documents(text.encode(), FILE))
    return checker.report()


def errors(*objects: Json, gates: FeatureGates = DEFAULT_GATES) -> list[str]:
    """Field and message of every error."""
    found = report(*objects, gates=gates).findings
    return [f"{each.field}: {each.message}" for each in found if each.severity is not FindingSeverity.WARNING]


def warnings(*objects: Json) -> list[str]:
    """Code, object and field of every warning; no manifest may have an error."""
    found = report(*objects).findings
    assert [str(each) for each in found if each.severity is not FindingSeverity.WARNING] == []
    return [f"{each.code} {each.origin.subject} {each.field}" for each in found]


def message(code: str, *objects: Json) -> str:
    """The message of the one warning with that code."""
    (found,) = (each for each in report(*objects).findings if each.code == code)
    return found.message


def kueue(kind: str, name: str, namespace: str = "", version: str = V1BETA2, **spec: Json) -> Json:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **place}, "spec": spec}


def flavor(name: str = "f1", **spec: Json) -> Json:
    return kueue("ResourceFlavor", name, **spec)


def queue(name: str = "cq", cpu: Json = 10, **spec: Json) -> Json:
    """A ClusterQueue that takes all namespaces, with so many cpus in flavor f1."""
    return kueue("ClusterQueue", name, **{"namespaceSelector": {}, "resourceGroups": [cpus(cpu)], **spec})


def cpus(amount: Json, **limits: Json) -> Json:
    return group(flavor_quotas("f1", quota("cpu", amount, **limits)))


def local_queue(name: str = "lq", namespace: str = "ns", cluster_queue: str = "cq") -> Json:
    return kueue("LocalQueue", name, namespace, clusterQueue=cluster_queue)


def pod_spec(restart: str = "Never", **requests: Json) -> Json:
    return {"restartPolicy": restart, "containers": [{"name": "c", "resources": {"requests": requests}}]}


def job(queue_name: str = "", name: str = "train", pods: int = 1, annotations: Json = None, **requests: Json) -> Json:
    """A Job in namespace ns whose pods each request the given amount, one cpu by default."""
    metadata = {"name": name, "namespace": "ns", "labels": {QUEUE: queue_name} if queue_name else {}}
    spec = {"parallelism": pods, "template": {"spec": pod_spec(**(requests or {"cpu": 1}))}}
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


COMPLETE = (flavor(), queue(), local_queue())
"""A set in which everything that is referred to is there."""
