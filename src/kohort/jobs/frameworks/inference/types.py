"""The fields of serving kinds that Kohort reads."""

from collections.abc import Mapping
from typing import Any, ClassVar

from kohort.api.core.apps import UpdateStrategy
from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.resource import Resource
from kohort.api.struct import View

KSERVE = "serving.kserve.io"
INFERENCE_SERVICES = Resource(KSERVE, "v1beta1", "InferenceService", "inferenceservices", namespaced=True)
MODELS = Resource("kubeai.org", "v1", "Model", "models", namespaced=True)
POOLS = Resource("inference.networking.k8s.io", "v1", "InferencePool", "inferencepools", namespaced=True)
_KNATIVE = "serving.knative.dev"
KNATIVE_KINDS = (
    Resource(_KNATIVE, "v1", "Service", "services", namespaced=True),
    Resource(_KNATIVE, "v1", "Configuration", "configurations", namespaced=True),
    Resource(_KNATIVE, "v1", "Revision", "revisions", namespaced=True),
)
"""Kinds between an InferenceService and its Deployments."""


class ServingComponent(View):
    """A component of an InferenceService, such as its predictor."""

    min_replicas: int | None = None
    deployment_strategy: UpdateStrategy | None = None
    worker_spec: Mapping[str, Any] | None = None


class InferenceServiceSpec(View):
    """Spec of an InferenceService."""

    predictor: ServingComponent | None = None
    transformer: ServingComponent | None = None
    explainer: ServingComponent | None = None


class InferenceServiceStatus(View):
    """Status of an InferenceService."""

    conditions: tuple[StatusCondition, ...] = ()


class InferenceService(ObjectView):
    """A serving.kserve.io/v1beta1 InferenceService."""

    resource: ClassVar = INFERENCE_SERVICES

    spec: InferenceServiceSpec = InferenceServiceSpec()
    status: InferenceServiceStatus = InferenceServiceStatus()


class ModelSpec(View):
    """Spec of a KubeAI Model."""

    min_replicas: int | None = None


class Model(ObjectView):
    """A kubeai.org/v1 Model."""

    resource: ClassVar = MODELS

    spec: ModelSpec = ModelSpec()
