"""Why a pending workload's requests are invalid (SCH-124.3 and 4), as the message of its condition.

The preceding checks of the namespace (SCH-124.1 and 2) need the namespace and the queue; callers make them.
"""

from collections.abc import Iterable
from dataclasses import replace

from kohort.api.errors import ApiError
from kohort.api.fields import ROOT, FieldError, Path
from kohort.api.kueue.v1beta2.workload import Workload
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.template_requests import read_template

INVALID_RESOURCES = "resources validation failed"
OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints"


def resource_problem(workload: Workload, environment: Environment) -> str | None:
    """What is wrong with the requests, the first kind of failure only (SCH-124); None if nothing is."""
    readings = []
    for index, pod_set in enumerate(workload.spec.pod_sets):
        try:
            readings.append(read_template(pod_set.asking, environment))
        except ApiError as error:
            return f"{INVALID_RESOURCES}: {_template(index)}: {error}"
    above_limits = [_placed(index, error) for index, each in enumerate(readings) for error in each.limit_errors]
    if above_limits:
        return f"{INVALID_RESOURCES}: {_in_one_line(above_limits)}"
    out_of_range = [_placed(index, error) for index, each in enumerate(readings) for error in each.range_errors]
    return f"{OUT_OF_RANGE}: {_in_one_line(out_of_range)}" if out_of_range else None


def _template(index: int) -> Path:
    return (ROOT / "spec" / "podSets")[index] / "template"


def _placed(index: int, error: FieldError) -> FieldError:
    """The error with its path from the workload instead of the pod spec."""
    spec = _template(index) / "spec"
    return replace(error, path=spec / error.path.text if error.path.text else spec)


def _in_one_line(errors: Iterable[FieldError]) -> str:
    texts = [str(error) for error in errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
