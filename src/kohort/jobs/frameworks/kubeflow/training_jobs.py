"""The kinds of the Training Operator, `kubeflow.org/v1` (§16.3)."""

from typing import ClassVar

from kohort.api.resource import Resource
from kohort.jobs.contract import ManagedBy
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework, kubeflow_resource, training_managed_by


class TrainingJobFramework(ReplicaJobFramework):
    """A kind of the Training Operator."""

    managed_by: ClassVar[ManagedBy | None] = training_managed_by("kubeflow.org/training-operator")


class PyTorchJobFramework(TrainingJobFramework):
    """PyTorchJobs."""

    name: ClassVar[str] = "kubeflow.org/pytorchjob"
    resource: ClassVar[Resource] = kubeflow_resource("PyTorchJob", "v1")
    replica_specs: ClassVar[str] = "pytorchReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Master", "Worker")
    operator: ClassVar[str] = "pytorchjob-controller"


class TFJobFramework(TrainingJobFramework):
    """TFJobs."""

    name: ClassVar[str] = "kubeflow.org/tfjob"
    resource: ClassVar[Resource] = kubeflow_resource("TFJob", "v1")
    replica_specs: ClassVar[str] = "tfReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Chief", "Master", "PS", "Worker", "Evaluator")
    operator: ClassVar[str] = "tfjob-controller"


class PaddleJobFramework(TrainingJobFramework):
    """PaddleJobs."""

    name: ClassVar[str] = "kubeflow.org/paddlejob"
    resource: ClassVar[Resource] = kubeflow_resource("PaddleJob", "v1")
    replica_specs: ClassVar[str] = "paddleReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Master", "Worker")
    operator: ClassVar[str] = "paddlejob-controller"


class XGBoostJobFramework(TrainingJobFramework):
    """XGBoostJobs."""

    name: ClassVar[str] = "kubeflow.org/xgboostjob"
    resource: ClassVar[Resource] = kubeflow_resource("XGBoostJob", "v1")
    replica_specs: ClassVar[str] = "xgbReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Master", "Worker")
    operator: ClassVar[str] = "xgboostjob-controller"


class JAXJobFramework(TrainingJobFramework):
    """JAXJobs."""

    name: ClassVar[str] = "kubeflow.org/jaxjob"
    resource: ClassVar[Resource] = kubeflow_resource("JAXJob", "v1")
    supports_prebuilt: ClassVar[bool] = False
    replica_specs: ClassVar[str] = "jaxReplicaSpecs"
    replica_types: ClassVar[tuple[str, ...]] = ("Worker",)
    operator: ClassVar[str] = "jaxjob-controller"
