"""The stand-ins of `kohort up --operators`, compared with the objects of the real operators."""

from typing import Final

import pytest

from cluster.kubectl import Kubectl
from kit.builders.core import make_namespace
from kohort.api.core.batch import Job
from kohort.operators.kinds.jobset import SERVICES, JobSetStandIn
from real_operators.kinds.jobset import JOBSET
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


COMPARISONS: Final = (OperatorComparison("jobset", JobSetStandIn(), _jobset, (Job.resource, SERVICES)),)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda each: f"{each.name}-{each.stand_in.resource.kind}")
def test_planned_objects_are_those_of_the_operator(
    comparison: OperatorComparison, operators: RunningOperators, kubectl: Kubectl, user: User
) -> None:
    operators.start(comparison.name)
    namespace = f"same-{comparison.stand_in.resource.kind.lower()}"
    kubectl.apply(make_namespace(namespace))
    assert comparison.differences(user, namespace) == []
