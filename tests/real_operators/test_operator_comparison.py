"""The stand-ins of `kohort up --operators`, compared with the objects of the real operators."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from cluster.kubectl import Kubectl
from kit.builders.core import make_namespace
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.operators.kinds.jobset import JobSetStandIn
from kohort.operators.kinds.kubeflow import TRAINING_STAND_INS
from kohort.operators.objects import SERVICES
from real_operators.kinds.jobset import JOBSET
from real_operators.kinds.training import TRAINING_JOBS
from real_operators.operator_comparison import Json, OperatorComparison
from real_operators.processes import RunningOperators
from real_operators.users import User


def _jobset() -> Json:
    """Groups, a coordinator, a subdomain of its own."""
    spec = JOBSET.make_spec("same", "forever")
    spec["replicatedJobs"][1]["groupName"] = "second"
    return {
        **spec,
        "coordinator": {"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0},
        "network": {"subdomain": "peers", "enableDNSHostnames": True},
    }


def _training_jobs() -> Iterator[OperatorComparison]:
    stand_ins = {each.resource: each for each in TRAINING_STAND_INS}
    for kind in TRAINING_JOBS:
        make_spec = partial(kind.make_spec, "same", "forever")
        yield OperatorComparison("training", stand_ins[kind.resource], make_spec, (Pod.resource, SERVICES))


COMPARISONS: Final = (
    OperatorComparison("jobset", JobSetStandIn(), _jobset, (Job.resource, SERVICES)),
    *_training_jobs(),
)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.name}-{each.stand_in.resource.kind}")
def test_planned_objects_are_those_of_the_operator(
    comparison: OperatorComparison, operators: RunningOperators, kubectl: Kubectl, user: User
) -> None:
    operators.start(comparison.name)
    namespace = f"same-{comparison.stand_in.resource.kind.lower()}"
    kubectl.apply(make_namespace(namespace))
    assert comparison.differences(user, namespace) == []
