"""The two managers, installed as users do: each on its own control plane, with the same Configuration and queues."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.client import JsonClient
from cluster.control_plane import ControlPlaneWithoutScheduler
from cluster.kubectl import Kubectl
from cluster.manager_pods import KOHORT, ManagerPod, ManagerProgram
from cluster.nodes import PROGRAM
from cluster.services import ControlPlaneWithServices
from job_comparison.cases import COPIED_LABEL, DEFAULTED, TEAM, WORKLOAD_CLASSES
from job_comparison.definitions import definition_files
from job_comparison.kubeflow import training_runtimes
from job_comparison.templates import POD_CLASSES
from kohort.api.documents import read_documents
from oracle.kueue import build_manager, manager_configuration, manager_manifests

Json = Any

CONTROLLERS: Final = (
    "serviceaccount-controller",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
)
"""Those that create objects of a case; no job runs."""
RELEASE: Final = "v0.19"
"""The release of the real Kueue, whose defaults of feature gates ours gets too."""
FRAMEWORKS: Final = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/mpijob",
    "kubeflow.org/jaxjob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "trainer.kubeflow.org/trainjob",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "deployment",
    "statefulset",
)


APPLY: Final = ("apply", "--server-side", "--validate=false")
"""Without the client's validation, for which it reads the schemas of all kinds first; the server validates too."""


class PlaneOfManager(ControlPlaneWithServices, ControlPlaneWithoutScheduler):
    """A control plane with Services, and without a scheduler."""


@contextmanager
def running_kueue(folder: Path) -> Iterator[JsonClient]:
    """Runs the real Kueue; gives the administrator's connection."""
    with PlaneOfManager(*CONTROLLERS) as plane:
        kubectl = _kubectl(plane, folder)
        printed = kubectl("kustomize", str(manager_manifests())).out
        manifests = [_configured(each.value) for each in read_documents(printed.encode(), "kustomize")]
        with _installed(plane, kubectl, manifests, ManagerProgram("kueue", (build_manager(),)), folder) as admin:
            yield admin


@contextmanager
def running_kohort(folder: Path) -> Iterator[JsonClient]:
    """Runs Kohort from the manifests for Kueue's Configuration; gives the administrator's connection."""
    with PlaneOfManager(*CONTROLLERS) as plane:
        kubectl = _kubectl(plane, folder)
        file = folder / "configuration.yaml"
        file.write_text(yaml.safe_dump(_configuration()))
        command: list[str | Path] = [PROGRAM, "install", f"--config={file}", f"--compat={RELEASE}", "--output=json"]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        manifests = [each.value for each in read_documents(printed.encode(), "kohort install")]
        with _installed(plane, kubectl, manifests, KOHORT, folder) as admin:
            yield admin


def _kubectl(plane: PlaneOfManager, folder: Path) -> Kubectl:
    return Kubectl(plane.kubectl, plane.kubeconfig, folder / "cache")


@contextmanager
def _installed(
    plane: PlaneOfManager, kubectl: Kubectl, manifests: list[Json], program: ManagerProgram, folder: Path
) -> Iterator[JsonClient]:
    """The manager runs, and accepts objects in its queues."""
    kubectl(*APPLY, *(f"--filename={file}" for file in definition_files()))
    kubectl(*APPLY, "--filename=-", stdin=_list_of(manifests))
    kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
    pod, admin = ManagerPod(plane, folder), JsonClient(plane.admin)
    try:
        pod.start(program)
        kubectl(*APPLY, "--filename=-", stdin=_list_of(_surroundings()))
        yield admin
    except BaseException:
        plane.keep_logs()
        print(f"logs of {program.name}: {plane.logs}", file=sys.stderr)
        raise
    finally:
        pod.close()
        admin.close()


def _list_of(objects: list[Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def _configured(manifest: Json) -> Json:
    """The ConfigMap with the Configuration of both managers; any other object as it is."""
    if manifest["kind"] != "ConfigMap" or not manifest["metadata"]["name"].endswith("manager-config"):
        return manifest
    return {**manifest, "data": {name: yaml.safe_dump(_configuration()) for name in manifest["data"]}}


def _configuration() -> Json:
    integrations = {"frameworks": list(FRAMEWORKS), "labelKeysToCopy": [COPIED_LABEL]}
    return {**manager_configuration(), "integrations": integrations, "featureGates": {"VisibilityOnDemand": False}}


def _surroundings() -> list[Json]:
    """Namespaces with queues from which nothing is admitted, so that every job stays as it was queued."""
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    quota = {"name": "default", "resources": [{"name": "cpu", "nominalQuota": 0}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    queue = {"namespaceSelector": {}, "resourceGroups": groups, "stopPolicy": "Hold"}
    places = [(TEAM, "main"), (TEAM, "other"), (DEFAULTED, "main"), (DEFAULTED, "default")]
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in (TEAM, DEFAULTED)),
        *(_classes("scheduling.k8s.io/v1", "PriorityClass", POD_CLASSES)),
        *(_classes("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass", WORKLOAD_CLASSES)),
        {**kueue, "kind": "ResourceFlavor", "metadata": {"name": "default"}},
        {**kueue, "kind": "ClusterQueue", "metadata": {"name": "held"}, "spec": queue},
        *(
            {
                **kueue,
                "kind": "LocalQueue",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"clusterQueue": "held"},
            }
            for namespace, name in places
        ),
        *training_runtimes(),
    ]


def _classes(version: str, kind: str, names: tuple[str, ...]) -> list[Json]:
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "value": 1000 * (number + 1)}
        for number, name in enumerate(names)
    ]
