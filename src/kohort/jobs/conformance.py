"""The conformance kit (JOB-235): requirements of every framework, checked with sample objects.

A test calls `check_framework(framework, samples, reads)`, which raises an AssertionError for the first violated
requirement. It needs no test library, so that plugins can use it with any.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

from kohort.api.codec import JsonObject
from kohort.api.names import check_label
from kohort.jobs.contract import ClusterReader, Framework
from kohort.jobs.errors import PermanentError
from kohort.jobs.normalising import containers_of, tolerations_of
from kohort.jobs.podsets import JobPodSet, PodSetInfo, info_of, merge_info
from kohort.jobs.workload_builder import stored

MAX_POD_SETS = 18


@dataclass(frozen=True, slots=True)
class Samples:
    """Objects of one framework in four states."""

    suspended: JsonObject
    """Suspended by the webhook."""
    running: JsonObject
    """Unsuspended, with running pods."""
    succeeded: JsonObject | None = None
    """None for a kind whose objects never finish."""
    failed: JsonObject | None = None

    def all(self) -> tuple[JsonObject, ...]:
        """All samples."""
        ended = (each for each in (self.succeeded, self.failed) if each is not None)
        return (self.suspended, self.running, *ended)


def check_framework(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    """Check all requirements; raises AssertionError with the first that is violated."""
    for requirement in REQUIREMENTS:
        requirement(framework, samples, reads)


def _holds(what: str, framework: Framework, *, holds: bool) -> None:
    if not holds:
        raise AssertionError(f"{framework.name}: {what}")


def _suspending_again_changes_nothing(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    for sample in (samples.suspended, samples.running):
        once = deepcopy(sample)
        framework.suspend(once)
        twice = deepcopy(once)
        framework.suspend(twice)
        _holds("suspend is not idempotent", framework, holds=once == twice)
        _holds("is_suspended is False after suspend", framework, holds=framework.is_suspended(once))


def _samples_match_their_names(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    _holds("the suspended sample is not suspended", framework, holds=framework.is_suspended(samples.suspended))
    _holds("the running sample is suspended", framework, holds=not framework.is_suspended(samples.running))
    unfinished = (samples.suspended, samples.running)
    _holds("an unfinished sample is finished", framework, holds=not any(map(framework.finished, unfinished)))
    for sample, success in ((samples.succeeded, True), (samples.failed, False)):
        _holds(
            "a kind that runs to completion has no finished sample", framework, holds=_is_complete(framework, sample)
        )
        if sample is None:
            continue
        ended = framework.finished(sample)
        _holds("a finished sample is not finished", framework, holds=ended is not None)
        _holds("a finished sample has another outcome", framework, holds=ended is not None and ended.success == success)
        _holds("a finished sample is active", framework, holds=not framework.is_active(sample))


def _is_complete(framework: Framework, finished: JsonObject | None) -> bool:
    return finished is not None or not framework.runs_to_completion


def _pod_sets_are_sound(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    for sample in samples.all():
        found = framework.pod_sets(sample, reads)
        _holds("pod_sets gives another answer each time", framework, holds=found == framework.pod_sets(sample, reads))
        names = [each.name for each in found]
        _holds(f"1 to {MAX_POD_SETS} pod sets", framework, holds=1 <= len(found) <= MAX_POD_SETS)
        _holds("names of pod sets repeat", framework, holds=len(names) == len(set(names)))
        bad = next((name for name in names if check_label(name)), None)
        _holds(f"pod set name {bad!r} is no DNS label", framework, holds=bad is None)
        _holds("a pod set has a negative count", framework, holds=all(each.count >= 0 for each in found))


def _reads_change_nothing(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    for sample in samples.all():
        before = deepcopy(sample)
        for found in framework.pod_sets(sample, reads):
            found.template.setdefault("metadata", {})["conformance"] = "x"
        for look in (framework.is_suspended, framework.finished, framework.is_active):
            look(sample)
        framework.reclaimable(sample, reads)
        framework.pods_ready(sample, reads)
        framework.key(sample)
        framework.priority_class(sample)
        framework.skips(sample, reads)
        framework.on_hold(sample)
        framework.claims(sample)
        framework.pod_selector(sample)
        _holds("an operation that only looks changed its object", framework, holds=sample == before)


def _a_stop_undoes_a_start(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    """Restoring undoes a start (JOB-52); kinds that are stopped by deletion have nothing to restore."""
    obj = deepcopy(samples.suspended)
    before = framework.pod_sets(obj, reads)
    framework.start(obj, _infos(before))
    _holds("is_suspended is True after start", framework, holds=not framework.is_suspended(obj))
    originals = [info_of(each.name, each.count, each.template) for each in before]
    if not framework.restore(obj, originals):
        _holds("restore refuses its own originals", framework, holds=framework.gates_pods)
        return
    framework.suspend(obj)
    after = framework.pod_sets(obj, reads)
    _holds("start and restore leave other pod sets", framework, holds=_meaning(after) == _meaning(before))
    kept = [info_of(each.name, each.count, each.template) for each in after]
    _holds("start and restore leave other templates", framework, holds=kept == originals)


def _a_started_object_has_what_it_was_given(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    obj = deepcopy(samples.suspended)
    expected = framework.pod_sets(obj, reads)
    infos = _infos(expected)
    framework.start(obj, infos)
    for pod_set, info in zip(expected, infos, strict=True):
        if not framework.binds_pods:
            merge_info(pod_set.template, info)
    found = framework.pod_sets(obj, reads)
    _holds(
        "a started object has other containers or tolerations", framework, holds=_meaning(found) == _meaning(expected)
    )


def _a_wrong_number_of_infos_is_refused(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    obj = deepcopy(samples.suspended)
    infos = _infos(framework.pod_sets(obj, reads))
    try:
        framework.run(obj, [*infos, PodSetInfo("one-too-many")], "", reads)
    except PermanentError:
        return
    _holds("start takes a wrong number of infos", framework, holds=False)


def _restore_never_raises(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    for sample in samples.all():
        before, changed = deepcopy(sample), deepcopy(sample)
        too_many = [PodSetInfo(f"x{number}") for number in range(MAX_POD_SETS + 1)]
        _holds("restore takes a wrong number of originals", framework, holds=not framework.restore(changed, too_many))
        _holds("restore changes an object that it refuses", framework, holds=changed == before)


def _stored_pod_sets_are_taken(framework: Framework, samples: Samples, reads: ClusterReader) -> None:
    pod_sets = framework.pod_sets(samples.suspended, reads)
    _holds("pod sets can't be stored", framework, holds=len(stored(pod_sets, reads.gates)) == len(pod_sets))


def _infos(pod_sets: Sequence[JobPodSet]) -> list[PodSetInfo]:
    """Infos with a value in every field."""
    return [
        PodSetInfo(
            each.name,
            each.count,
            labels={"conformance.kohort.dev/label": each.name},
            annotations={"conformance.kohort.dev/annotation": each.name},
            node_selector={"conformance.kohort.dev/node": "n"},
            tolerations=({"key": "conformance.kohort.dev/taint", "operator": "Exists"},),
            scheduling_gates=("conformance.kohort.dev/gate",),
        )
        for each in pod_sets
    ]


def _meaning(pod_sets: Sequence[JobPodSet]) -> list[object]:
    """Pod sets in the form that equivalence compares (JOB-32)."""
    return [
        (
            each.name,
            each.count,
            each.min_count,
            containers_of(each.template, "initContainers"),
            containers_of(each.template, "containers"),
            tolerations_of(each.template),
        )
        for each in pod_sets
    ]


FrameworkRequirement = Callable[[Framework, Samples, ClusterReader], None]

REQUIREMENTS: tuple[FrameworkRequirement, ...] = (
    _samples_match_their_names,
    _suspending_again_changes_nothing,
    _pod_sets_are_sound,
    _reads_change_nothing,
    _a_stop_undoes_a_start,
    _a_started_object_has_what_it_was_given,
    _a_wrong_number_of_infos_is_refused,
    _restore_never_raises,
    _stored_pod_sets_are_taken,
)
