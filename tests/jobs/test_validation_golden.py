"""Jobs as the real Kueue's webhooks defaulted and refused them (JOB-66 to JOB-72)."""

from typing import Any

import pytest

from jobs.golden_jobs import configuration_of, gates_of, harness_of, without_empty
from kit.golden.recordings import job_recording
from kohort.api.fields import FieldError
from kohort.api.merge import merge
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.keys import MULTIKUEUE_CONTROLLER
from kohort.jobs.scope import selects_namespace
from kohort.jobs.validation import validate_job

Json = Any

JOB = BatchJobFramework()
CASES = job_recording("job")
CREATES = [(case, each) for case in CASES for each in case.get("validateCreate", ())]
UPDATES = [(case, each) for case in CASES for each in case.get("validateUpdate", ())]


def facts_of(case: Json, *, is_new: bool = True) -> JobContext:
    """The surroundings of a case."""
    extra = case.get("extraObjects") or ()
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in extra}
    controllers = {obj["spec"]["controllerName"] for obj in extra if obj["kind"] == "AdmissionCheck"}
    return JobContext(
        reads=harness_of(case, JOB),
        is_new=is_new,
        in_scope=selects_namespace(configuration_of(case), {}),
        has_default_queue=("LocalQueue", "default") in names,
        has_default_priority_class=("WorkloadPriorityClass", "default") in names,
        dispatches=lambda queue: queue == "qm" and MULTIKUEUE_CONTROLLER in controllers,
    )


def named(pair: Any) -> str:
    return str(pair[1]["name"])


def judged(errors: list[FieldError], recorded: Json) -> None:
    assert (not errors) == recorded["allowed"], errors
    if errors:
        paths = [str(error.path) for error in errors]
        first = recorded["message"].lstrip("[").partition(": ")[0]
        assert first == paths[0], errors


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_jobs_are_defaulted_as_the_real_kueue_did(case: Json) -> None:
    facts = facts_of(case)
    defaulted, warnings = default_job(JOB, case["object"], facts)
    if not facts.in_scope:
        assert defaulted == case["object"], "a namespace that is not managed is left alone (DEV-1)"
    else:
        assert without_empty(defaulted) == without_empty(case["defaulted"])
    assert warnings == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_defaulting_twice_is_defaulting_once(case: Json) -> None:
    once, _ = default_job(JOB, case["object"], facts_of(case))
    assert default_job(JOB, once, facts_of(case)) == (once, [])


@pytest.mark.parametrize("pair", CREATES, ids=named)
def test_new_jobs_are_refused_where_the_real_kueue_refused_them(pair: Any) -> None:
    case, recorded = pair
    obj = merge(case["object"], recorded["patch"])
    errors, _ = validate_job(JOB, obj, None, facts_of(case))
    judged(errors, recorded)


@pytest.mark.parametrize("pair", UPDATES, ids=named)
def test_changes_are_refused_where_the_real_kueue_refused_them(pair: Any) -> None:
    case, recorded = pair
    old = merge(case["defaulted"], recorded.get("oldPatch", {}))
    errors, _ = validate_job(JOB, merge(old, recorded["patch"]), old, facts_of(case, is_new=False))
    judged(errors, recorded)


def test_every_invalid_topology_annotation_is_rejected_when_the_gate_is_on() -> None:
    case = {**CASES[0], "featureGates": {"TopologyAwareScheduling": True}}
    names = {"two topology modes", "slice without size", "size without slice", "slice larger than count"}
    names |= {"slice size 0", "group without mode", "numeric group", "constraints not dividing", "constraints and pair"}
    wrong = [each for each in CASES[0]["validateCreate"] if each["name"] in names]
    assert len(wrong) == len(names)
    for each in wrong:
        errors, _ = validate_job(JOB, merge(case["object"], each["patch"]), None, facts_of(case))
        assert errors, each["name"]
        assert all(str(error.path).startswith("spec.template.metadata.annotations") for error in errors), errors
    assert gates_of(case) != gates_of(CASES[0])
