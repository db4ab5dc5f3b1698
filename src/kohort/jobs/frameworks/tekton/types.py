"""The fields of a PipelineRun that Kohort reads."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from kohort.api.core.objects import ObjectView, StatusCondition
from kohort.api.resource import Resource
from kohort.api.struct import View

GROUP = "tekton.dev"
PIPELINE_RUNS = Resource(GROUP, "v1", "PipelineRun", "pipelineruns", namespaced=True)
TASK_RUNS = Resource(GROUP, "v1", "TaskRun", "taskruns", namespaced=True)

_Amounts = Mapping[str, int | float | str]


class ComputeResources(View):
    """Resources of a container or of a task."""

    requests: _Amounts | None = None
    limits: _Amounts | None = None


class TaskContainer(View):
    """A step or a sidecar."""

    name: str = ""
    compute_resources: ComputeResources | None = None


class TaskSpec(View):
    """An inline task."""

    steps: tuple[TaskContainer, ...] | None = None
    sidecars: tuple[TaskContainer, ...] | None = None
    step_template: TaskContainer | None = None


class PipelineTask(View):
    """A task of a pipeline."""

    name: str = ""
    task_spec: TaskSpec | None = None
    matrix: Mapping[str, Any] | None = None


class PipelineSpec(View):
    """An inline pipeline."""

    tasks: tuple[PipelineTask, ...] | None = None
    finally_: tuple[PipelineTask, ...] | None = msgspec.field(default=None, name="finally")


class TaskRunSpec(View):
    """Settings of the runs of one task."""

    pipeline_task_name: str = ""
    compute_resources: ComputeResources | None = None


class PodTemplateDefaults(View):
    """Settings of all pods."""

    node_selector: Mapping[str, str] | None = None
    tolerations: tuple[Mapping[str, Any], ...] | None = None
    affinity: Mapping[str, Any] | None = None
    priority_class_name: str | None = None


class TaskRunTemplate(View):
    """Settings of all runs of tasks."""

    pod_template: PodTemplateDefaults | None = None


class Timeouts(View):
    """Limits on run times."""

    pipeline: str | None = None


class PipelineRunSpec(View):
    """Spec of a PipelineRun."""

    status: str | None = None
    pipeline_spec: PipelineSpec | None = None
    task_run_specs: tuple[TaskRunSpec, ...] | None = None
    task_run_template: TaskRunTemplate | None = None
    timeouts: Timeouts | None = None


class PipelineRunStatus(View):
    """Status of a PipelineRun."""

    start_time: str | None = None
    conditions: tuple[StatusCondition, ...] = ()


class PipelineRun(ObjectView):
    """A tekton.dev/v1 PipelineRun."""

    resource: ClassVar = PIPELINE_RUNS

    spec: PipelineRunSpec = PipelineRunSpec()
    status: PipelineRunStatus = PipelineRunStatus()
