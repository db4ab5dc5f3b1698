"""Validation of Jobs, CronJobs, Deployments and other workloads."""

from kohort.api.codec import Json, JsonMapping, from_json
from kohort.api.errors import ApiError
from kohort.api.fields import Path, not_supported
from kohort.api.meta import LabelSelector
from kohort.api.selectors import compile_selector
from kohort.embedded.kinds.strategies import CONTROLLER_UID
from kohort.embedded.kinds.validation.problems import Problems, bad, missing, not_negative
from kohort.embedded.kinds.validation.schedules import schedule_problem

_JOB_POLICIES = ("OnFailure", "Never")
_JOB_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_MAX_INDEXED = 100_000


def job_spec(spec: JsonMapping, path: Path) -> Problems:
    """Counts, completion mode, and restart policy of the template."""
    yield from not_negative(spec, path, *_JOB_COUNTS)
    if spec.get("completionMode") == "Indexed":
        yield from _indexed(spec, path)
    else:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(name) is not None:
                yield bad(path / name, spec[name], "requires indexed completion mode")
    if spec.get("podFailurePolicy") and spec.get("podReplacementPolicy") not in (None, "Failed"):
        yield not_supported(path / "podReplacementPolicy", spec["podReplacementPolicy"], ("Failed",))


def _indexed(spec: JsonMapping, path: Path) -> Problems:
    completions = spec.get("completions")
    if completions is None:
        yield missing(path / "completions", "when completion mode is Indexed")
    if (spec.get("parallelism") or 0) > _MAX_INDEXED:
        why = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
        yield bad(path / "parallelism", spec["parallelism"], why)
    if completions is not None and (spec.get("maxFailedIndexes") or 0) > completions:
        yield bad(path / "maxFailedIndexes", spec["maxFailedIndexes"], "must be less than or equal to completions")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield missing(path / "backoffLimitPerIndex", "when maxFailedIndexes is specified")


def job_policy(spec: JsonMapping, path: Path) -> Problems:
    """The restart policy of a Job's pods is not Always."""
    path = path / "template" / "spec" / "restartPolicy"
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy in (None, "", "Always"):
        yield missing(path, 'valid values: "OnFailure", "Never"')
    elif policy not in _JOB_POLICIES:
        yield not_supported(path, policy, _JOB_POLICIES)
    elif spec.get("podFailurePolicy") and policy != "Never":
        yield bad(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def job(obj: JsonMapping, path: Path) -> Problems:
    """The selector matches the template's labels."""
    spec, uid = obj.get("spec") or {}, (obj.get("metadata") or {}).get("uid", "")
    selector = spec.get("selector")
    if selector is None:
        yield missing(path / "spec" / "selector")
    elif not spec.get("manualSelector") and selector != {"matchLabels": {CONTROLLER_UID: uid}}:
        yield bad(path / "spec" / "selector", selector, "`selector` not auto-generated")
    yield from _matching(spec, path / "spec")


def cron_job_spec(spec: JsonMapping, path: Path) -> Problems:
    """A valid schedule."""
    schedule = spec.get("schedule")
    problem = schedule_problem(schedule) if schedule else ""
    if problem:
        yield bad(path / "schedule", schedule, problem)
    yield from not_negative(
        spec, path, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )


def controlled(spec: JsonMapping, path: Path) -> Problems:
    """Replicas, a selector that matches the template, and restart policy Always."""
    yield from not_negative(spec, path, "replicas", "minReadySeconds", "revisionHistoryLimit")
    selector = spec.get("selector")
    if selector is None:
        yield missing(path / "selector")
        yield from _matching(spec, path)
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield bad(path / "selector", selector, "empty selector is invalid for deployment")
    else:
        yield from _matching(spec, path)
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy not in (None, "", "Always"):
        yield not_supported(path / "template" / "spec" / "restartPolicy", policy, ("Always",))


def _matching(spec: JsonMapping, path: Path) -> Problems:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    try:
        given = spec.get("selector")
        selector = compile_selector(None if given is None else from_json(given, LabelSelector))
    except ApiError:
        yield bad(path / "selector", given, "invalid label selector")
        return
    if not selector.matches(labels):
        yield bad(
            path / "template" / "metadata" / "labels",
            dict(sorted(labels.items())) or None,
            "`selector` does not match template `labels`",
        )


def disruption_budget_spec(spec: JsonMapping, path: Path) -> Problems:
    """Either minAvailable or maxUnavailable."""
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown: Json = {"MinAvailable": spec["minAvailable"], "MaxUnavailable": spec["maxUnavailable"]}
        yield bad(path, shown, "minAvailable and maxUnavailable cannot be both set")
