"""Scheduling equivalence (SCH-250): a short text that is equal for workloads with identical decisions.

Each pod template is digested once: thousands of workloads have few distinct templates.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping

from kohort.api.call_cache import cached_calls
from kohort.api.codec import decode, encode, to_json
from kohort.api.core.containers import QuotaContainer
from kohort.api.core.pods import QuotaPodSpec, QuotaPodTemplate
from kohort.api.kueue import v1beta2
from kohort.api.kueue.v1beta2.workload import PodSet
from kohort.api.markers import RawQuantity
from kohort.api.quantity import canonical
from kohort.engine.requests.adjustment import adjusted
from kohort.engine.requests.demand import PodSetDemand
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.template_requests import REMEMBERED_TEMPLATES

DIGITS = 16


def equivalence(
    workload: v1beta2.Workload,
    priority: int,
    demands: Iterable[PodSetDemand],
    environment: Environment,
    allowed_flavors: Iterable[str] | None = None,
) -> str:
    """The same text for workloads of equal priority, demand and constraints (SCH-250).

    `demands` are those of the pod sets, in their order; pods count as they would be created in the `environment`;
    `allowed_flavors` are those of a variant of concurrent admission.
    """
    pod_sets = zip(workload.spec.pod_sets, demands, strict=True)
    flavors = None if allowed_flavors is None else sorted(allowed_flavors)
    asked = [_pod_set(pod_set, demand, environment) for pod_set, demand in pod_sets]
    return _digest(encode([priority, flavors, asked]))


def _pod_set(pod_set: PodSet, demand: PodSetDemand, environment: Environment) -> list[object]:
    """Only lists and structs, whose order is fixed, so that the encoding is canonical."""
    return [
        demand.name,
        demand.count,
        sorted(demand.per_pod.items()),
        demand.min_count,
        pod_set.topology_request,
        _template_digest(pod_set.asking, environment),
    ]


@cached_calls(REMEMBERED_TEMPLATES)
def _template_digest(template: bytes, environment: Environment) -> str:
    constraints = _constraints(adjusted(decode(template, QuotaPodTemplate).spec, environment))
    return _digest(json.dumps(to_json(constraints), sort_keys=True).encode())


def _constraints(spec: QuotaPodSpec) -> dict[str, object]:
    """The parts of a pod that influence its admission."""
    return {
        "containers": [_container(each) for each in spec.containers],
        "initContainers": [_container(each) for each in spec.init_containers],
        "nodeSelector": spec.node_selector,
        "affinity": spec.affinity,
        "tolerations": spec.tolerations,
        "runtimeClassName": spec.runtime_class_name,
        "priority": spec.priority,
        "topologySpreadConstraints": spec.topology_spread_constraints,
        "overhead": _quantities(spec.overhead),
        "resourceClaims": spec.resource_claims,
        "requests": None if spec.resources is None else _quantities(spec.resources.requests),
    }


def _container(container: QuotaContainer) -> list[object]:
    return [_quantities(container.resources.requests), container.ports]


def _quantities(quantities: Mapping[str, RawQuantity]) -> dict[str, str]:
    return {name: canonical(quantity) for name, quantity in quantities.items()}


def _digest(canonical_json: bytes) -> str:
    return hashlib.sha256(canonical_json).hexdigest()[:DIGITS]
