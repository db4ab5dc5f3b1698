"""The frameworks of a process: built-in ones, and plugins of installed packages."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS, KnownFramework
from kohort.api.config.v1beta2 import Configuration
from kohort.jobs.contract import DeclaredKind, Framework
from kohort.jobs.declarative import load_framework
from kohort.jobs.frameworks.appwrapper import AppWrapperFramework
from kohort.jobs.frameworks.cronjob import CronJobFramework
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.inference.model import ModelFramework
from kohort.jobs.frameworks.inference.pool import InferencePoolFramework
from kohort.jobs.frameworks.inference.service import InferenceServiceFramework
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.jobs.frameworks.kubeflow.mpijob import MPIJobFramework
from kohort.jobs.frameworks.kubeflow.training_jobs import (
    JAXJobFramework,
    PaddleJobFramework,
    PyTorchJobFramework,
    TFJobFramework,
    XGBoostJobFramework,
)
from kohort.jobs.frameworks.kubeflow.trainjob import TrainJobFramework
from kohort.jobs.frameworks.leaderworkerset import LeaderWorkerSetFramework
from kohort.jobs.frameworks.minicluster import MiniClusterFramework
from kohort.jobs.frameworks.notebook import NotebookFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.ray.raycluster import RayClusterFramework
from kohort.jobs.frameworks.ray.rayjob import RayJobFramework
from kohort.jobs.frameworks.ray.rayservice import RayServiceFramework
from kohort.jobs.frameworks.replicaset import ReplicaSetFramework
from kohort.jobs.frameworks.sparkapplication import SparkApplicationFramework
from kohort.jobs.frameworks.statefulset import StatefulSetFramework
from kohort.jobs.frameworks.tekton import PipelineRunFramework
from kohort.jobs.registry import plugins


def built_in_frameworks() -> list[Framework]:
    """One instance of each built-in framework."""
    return [
        AppWrapperFramework(),
        BatchJobFramework(),
        CronJobFramework(),
        DeploymentFramework(),
        InferencePoolFramework(),
        InferenceServiceFramework(),
        JAXJobFramework(),
        JobSetFramework(),
        LeaderWorkerSetFramework(),
        MPIJobFramework(),
        MiniClusterFramework(),
        ModelFramework(),
        NotebookFramework(),
        PaddleJobFramework(),
        PipelineRunFramework(),
        PodFramework(),
        PyTorchJobFramework(),
        RayClusterFramework(),
        RayJobFramework(),
        RayServiceFramework(),
        ReplicaSetFramework(),
        SparkApplicationFramework(),
        StatefulSetFramework(),
        TFJobFramework(),
        TrainJobFramework(),
        XGBoostJobFramework(),
    ]


def all_frameworks(declarations: Iterable[Path] = ()) -> list[Framework]:
    """Built-in frameworks, plugins, and those that YAML files declare; raises RegistryError (JOB-92, JOB-234)."""
    return [*built_in_frameworks(), *plugins(), *map(load_framework, declarations)]


def with_declared(configuration: Configuration, frameworks: Iterable[Framework]) -> Configuration:
    """The Configuration with declared frameworks enabled: who passes a file wants its kind to be queued."""
    integrations = configuration.integrations
    names = (*integrations.frameworks, *(each.name for each in frameworks if isinstance(each, DeclaredKind)))
    changed = replace(integrations, frameworks=tuple(dict.fromkeys(names)))
    return replace(configuration, integrations=changed)


def known_frameworks(frameworks: Iterable[Framework]) -> Mapping[str, KnownFramework]:
    """Integrations that a Configuration may name: these, and all of Kueue's."""
    ours = {each.name: _known(each) for each in frameworks}
    return {**BUILT_IN_FRAMEWORKS, **ours}


def framework_names(frameworks: Iterable[Framework]) -> frozenset[str]:
    """Names of frameworks."""
    return frozenset(each.name for each in frameworks)


def _known(framework: Framework) -> KnownFramework:
    resource = framework.resource
    return KnownFramework(f"{resource.kind}.{resource.version}.{resource.group}", framework.dispatches, framework.gate)
