"""Each kind of jobs with its real operator on a real Kubernetes, from submission to deletion (jobs.md, §16 to §20)."""

import pytest

from real_operators.job_kind import JobKind
from real_operators.kinds import KINDS
from real_operators.processes import RunningOperators
from real_operators.scenario import JobScenario
from real_operators.users import User


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.operators[-1]}-{kind.name}")
def test_a_job_waits_runs_is_preempted_restored_resumed_and_deleted(
    kind: JobKind, operators: RunningOperators, user: User
) -> None:
    operators.start(*kind.operators)
    scenario = JobScenario(user, kind)
    scenario.set_up()
    scenario.play()
