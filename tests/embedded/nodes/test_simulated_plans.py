"""The meaning of a pod's annotations for its simulation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.nodes.simulated.plans import (
    COMPLETION_INDEX,
    FOREVER,
    Defaults,
    ParsedPlan,
    SimulatedPodPlan,
    read_plan,
)

DEFAULTS = Defaults(start_seconds=1.0, run_seconds=7.0)


def reading(restart: str = "Never", uid: str = "u", index: int | None = None, **annotations: object) -> ParsedPlan:
    notes = {f"kohort.dev/{key.replace('_', '-')}": str(text) for key, text in annotations.items()}
    if index is not None:
        notes[COMPLETION_INDEX] = str(index)
    return read_plan({"metadata": {"uid": uid, "annotations": notes}, "spec": {"restartPolicy": restart}}, DEFAULTS)


def plan(restart: str = "Never", uid: str = "u", index: int | None = None, **annotations: object) -> SimulatedPodPlan:
    found = reading(restart, uid, index, **annotations)
    assert found.problems == []
    return found.plan


def codes(found: SimulatedPodPlan, runs: int = 3) -> list[int]:
    return [found.code_of(attempt) for attempt in range(runs)]


def test_without_annotations_a_pod_runs_for_the_usual_time_and_succeeds() -> None:
    found = plan()
    assert (found.start, found.run, codes(found)) == (1.0, 7.0, [0, 0, 0])


def test_without_annotations_a_pod_that_is_always_restarted_never_ends() -> None:
    assert plan("Always").run == FOREVER


def test_times_are_as_written() -> None:
    found = plan("Always", start_seconds="0.5", run_seconds="30", stop_seconds="2", init_seconds="4")
    assert (found.start, found.run, found.stop, found.init) == (0.5, 30.0, 2.0, 4.0)


def test_a_pod_may_run_without_an_end() -> None:
    assert plan(run_seconds="forever").run == FOREVER


def test_an_exit_code_is_that_of_every_run() -> None:
    assert codes(plan(exit_code=3)) == [3, 3, 3]


def test_so_many_runs_fail_first() -> None:
    assert codes(plan(fail_times=2)) == [1, 1, 0]
    assert codes(plan(fail_times=1, exit_code=42)) == [42, 0, 0]


def test_some_indexes_fail() -> None:
    failing = [index for index in range(8) if codes(plan(index=index, fail_indexes="0,3-5"))[0]]
    assert failing == [0, 3, 4, 5]


def test_an_index_fails_so_many_times() -> None:
    assert codes(plan(index=1, fail_indexes="1", fail_times=1)) == [1, 0, 0]
    assert codes(plan(index=2, fail_indexes="1", fail_times=1)) == [0, 0, 0]


def test_a_part_of_all_pods_fails_and_always_the_same_ones() -> None:
    failed = [codes(plan(uid=f"pod-{number}", fail_rate="0.25"))[0] for number in range(1000)]
    assert 200 < sum(failed) < 300
    assert failed == [codes(plan(uid=f"pod-{number}", fail_rate="0.25"))[0] for number in range(1000)]
    assert codes(plan(fail_rate="0")) == [0, 0, 0]
    assert codes(plan(fail_rate="1", exit_code=9)) == [9, 9, 9]


def test_a_reason_has_its_exit_code() -> None:
    found = plan(fail_times=1, fail_reason="OOMKilled")
    assert (found.reason, codes(found)) == ("OOMKilled", [137, 0, 0])


def test_annotations_of_others_are_not_read() -> None:
    pod = {"metadata": {"annotations": {"example.com/run-seconds": "1"}}, "spec": {"restartPolicy": "Never"}}
    assert read_plan(pod, DEFAULTS).plan.run == 7.0


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("run_seconds", "-1", 'a number of seconds from 0 to ten years, or "forever"'),
        ("run_seconds", "nan", "a number of seconds"),
        ("start_seconds", "forever", "a number of seconds"),
        ("exit_code", "256", "a number from 0 to 255"),
        ("exit_code", "-1", "a number from 0 to 255"),
        ("fail_times", "1.5", "a whole number"),
        ("fail_rate", "2", "a number from 0 to 1"),
        ("fail_indexes", "1;2", "a list of indexes"),
        ("fail_reason", "two words", "one word"),
    ],
)
def test_nonsense_is_reported_and_the_default_taken(name: str, text: str, wanted: str) -> None:
    annotations: dict[str, Any] = {name: text}
    found = reading(**annotations)
    assert found.plan == plan()
    (problem,) = found.problems
    assert problem.startswith(f'kohort.dev/{name.replace("_", "-")}: "{text}" is not {wanted}')


NAMES = ("run-seconds", "start-seconds", "exit-code", "fail-times", "fail-rate", "fail-indexes", "fail-reason")


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)), st.text(max_size=5))
def test_no_annotation_breaks_anything(annotations: dict[str, str], index: str) -> None:
    notes: dict[str, Any] = {f"kohort.dev/{name}": text for name, text in annotations.items()}
    found = read_plan({"metadata": {"annotations": {**notes, COMPLETION_INDEX: index}}, "spec": {}}, DEFAULTS)
    assert found.plan.run >= 0
    assert all(0 <= found.plan.code_of(attempt) < 256 for attempt in range(3))
