"""What a Workload asks for where its status does not say: counted from its pod templates, as a manager would."""

from collections.abc import Mapping

from kohort.api.amounts import add, format_amount
from kohort.api.errors import ApiError
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2.workload import PodSet, Workload, WorkloadSpec
from kohort.engine.requests import Environment, RequestRules, demands
from kohort.insight.lean import LeanWorkload


def asked_of(workload: LeanWorkload) -> Mapping[str, str]:
    """The sum over all pods; nothing for templates that can't be read."""
    sets = tuple(PodSet(name=each.name, count=each.count, template=each.template) for each in workload.spec.pod_sets)
    thing = Workload(spec=WorkloadSpec(pod_sets=sets))
    try:
        found = demands(thing, RequestRules(), Environment.of((), ()), DEFAULT_GATES)
    except ApiError:
        return {}
    total: dict[str, int] = {}
    for each in found:
        for name, amount in each.total.items():
            total[name] = add(total.get(name, 0), amount)
    return {name: format_amount(name, amount) for name, amount in sorted(total.items()) if amount}
