"""Every finding of the doctor: a cluster where it appears, in these words, and one where it does not."""

import pytest

from insight.doctor_cases.case import Case
from insight.doctor_cases.cohorts import COHORTS
from insight.doctor_cases.jobs import JOBS
from insight.doctor_cases.nodes import NODES
from insight.doctor_cases.objects import OBJECTS
from insight.doctor_cases.queues import QUEUES
from insight.doctor_cases.quotas import QUOTAS
from insight.doctor_cases.topologies import TOPOLOGIES
from insight.doctor_cases.unsupported import UNSUPPORTED_REQUESTS
from insight.doctor_cases.workloads import WORKLOADS
from insight.doctor_snapshots import findings_of
from kohort.insight.doctor.runner import CHECKS

CASES = (*NODES, *TOPOLOGIES, *QUEUES, *QUOTAS, *COHORTS, *JOBS, *WORKLOADS, *OBJECTS, *UNSUPPORTED_REQUESTS)


OF_SETTINGS = {"feature-unsupported"}
"""Checks of the Configuration, which no object of a cluster is; `test_doctor_examining` has their findings."""


@pytest.mark.parametrize("case", [each for each in CASES if each.about], ids=lambda case: f"{case.id}: {case.story}")
def test_it_is_found(case: Case) -> None:
    found = {str(each.affected.subject): each.affected for each in findings_of(case.id, *case.cluster)}
    assert case.about in found
    assert case.problem in found[case.about].problem
    assert case.fix in found[case.about].fix


@pytest.mark.parametrize(
    "case", [each for each in CASES if not each.about], ids=lambda case: f"{case.id}: {case.story}"
)
def test_it_is_not_found(case: Case) -> None:
    assert findings_of(case.id, *case.cluster) == []


def test_every_check_has_a_case_with_a_finding_and_one_without() -> None:
    ids = {each.id for each in CHECKS}
    assert {case.id for case in CASES if case.about} == ids - OF_SETTINGS
    assert {case.id for case in CASES if not case.about} == ids - OF_SETTINGS
