"""Usage of an object under a ResourceQuota: object counts, and the resources of pods and claims."""

from collections.abc import Iterator
from typing import Any

from kohort.api.codec import JsonMapping
from kohort.api.quantity import Quantity
from kohort.embedded.kinds.qos import quality_of_service

ObjectUsage = dict[str, Quantity]

ONE, NOTHING = Quantity(10**9), Quantity(0)
_TERMINAL = ("Succeeded", "Failed")
_PLAIN_COUNTS = frozenset(
    (
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    )
)
_STANDARD = ("cpu", "memory", "ephemeral-storage")


def usage_of(resource: str, found: JsonMapping) -> ObjectUsage:
    """The usage of the object, by quota resource name; `resource` is its storage name."""
    used: ObjectUsage = {f"count/{resource}": ONE}
    if resource in _PLAIN_COUNTS:
        used[resource] = ONE
    if resource == "pods":
        used |= _pod_usage(found)
    elif resource == "persistentvolumeclaims":
        used |= _claim_usage(found)
    elif resource == "services":
        used |= _service_usage(found)
    return used


def added(left: ObjectUsage, right: ObjectUsage) -> ObjectUsage:
    """The sum."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def subtracted(left: ObjectUsage, right: ObjectUsage) -> ObjectUsage:
    """The difference."""
    return added(left, {name: NOTHING - amount for name, amount in right.items()})


def grown(before: ObjectUsage, after: ObjectUsage) -> ObjectUsage:
    """The increase of usage, where positive."""
    return {name: amount for name, amount in subtracted(after, before).items() if amount.nanos > 0}


def is_counted(resource: str, found: JsonMapping) -> bool:
    """Whether the object has usage; a terminated pod has its object count only."""
    return resource != "pods" or (found.get("status") or {}).get("phase") not in _TERMINAL


def _pod_usage(pod: JsonMapping) -> ObjectUsage:
    used: ObjectUsage = {}
    if not is_counted("pods", pod):
        return used
    used["pods"] = ONE
    for kind in ("requests", "limits"):
        for name, amount in pod_total(pod.get("spec") or {}, kind).items():
            used |= dict.fromkeys(_quota_names(kind, name), amount)
    return used


def _quota_names(kind: str, name: str) -> Iterator[str]:
    if name in _STANDARD or name.startswith("hugepages-"):
        yield f"{kind}.{name}"
        if kind == "requests":
            yield name
    elif kind == "requests":
        yield f"requests.{name}"


def pod_total(spec: JsonMapping, kind: str) -> ObjectUsage:
    """Requests or limits of a pod: the sum of its containers, or the largest init container."""
    total: ObjectUsage = {}
    for container in spec.get("containers") or ():
        total = added(total, _amounts(container, kind))
    sidecars: ObjectUsage = {}
    largest: ObjectUsage = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            sidecars = added(sidecars, amounts)
            amounts = sidecars
        else:
            amounts = added(amounts, sidecars)
        largest = {name: max(largest.get(name, NOTHING), amounts.get(name, NOTHING)) for name in {*largest, *amounts}}
    total = added(total, sidecars)
    merged = {name: max(total.get(name, NOTHING), largest.get(name, NOTHING)) for name in {*total, *largest}}
    overhead = {name: Quantity.parse(amount) for name, amount in (spec.get("overhead") or {}).items()}
    return added(merged, overhead) if merged or kind == "requests" else merged


def _amounts(container: JsonMapping, kind: str) -> ObjectUsage:
    resources = container.get("resources") or {}
    amounts = dict(resources.get(kind) or {})
    if kind == "requests":
        amounts = {**(resources.get("limits") or {}), **amounts}
    return {name: Quantity.parse(amount) for name, amount in amounts.items()}


def _claim_usage(claim: JsonMapping) -> ObjectUsage:
    spec = claim.get("spec") or {}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    amount = Quantity.parse(storage) if storage is not None else NOTHING
    used: ObjectUsage = {"requests.storage": amount}
    kind = spec.get("storageClassName")
    if kind:
        prefix = f"{kind}.storageclass.storage.k8s.io"
        used |= {f"{prefix}/requests.storage": amount, f"{prefix}/persistentvolumeclaims": ONE}
    return used


def _service_usage(service: JsonMapping) -> ObjectUsage:
    spec = service.get("spec") or {}
    ports = Quantity(len(spec.get("ports") or ()) * 10**9)
    if spec.get("type") == "NodePort":
        return {"services.nodeports": ports}
    if spec.get("type") == "LoadBalancer":
        without = spec.get("allocateLoadBalancerNodePorts") is False
        return {"services.loadbalancers": ONE, "services.nodeports": NOTHING if without else ports}
    return {}


def is_in_scope(quota: JsonMapping, resource: str, found: JsonMapping) -> bool:
    """Whether the object matches all scopes of the quota; scopes apply to pods."""
    spec = quota.get("spec") or {}
    demands = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    demands += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    if not demands:
        return True
    return resource == "pods" and all(_fits(demand, found.get("spec") or {}) for demand in demands)


def is_terminating(pod: JsonMapping) -> bool:
    """Whether a pod is in the scope Terminating."""
    return (pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def _fits(demand: JsonMapping, spec: JsonMapping) -> bool:
    name, operator = demand.get("scopeName"), demand.get("operator")
    if name == "PriorityClass":
        return _priority_fits(operator, demand.get("values") or (), spec.get("priorityClassName"))
    terminating = is_terminating({"spec": spec})
    best_effort = quality_of_service(spec) == "BestEffort"
    facts = {
        "Terminating": terminating,
        "NotTerminating": not terminating,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
    }
    return facts.get(str(name), False)


def _priority_fits(operator: str | None, values: Any, chosen: str | None) -> bool:
    match operator:
        case "In":
            return chosen in values
        case "NotIn":
            return chosen not in values
        case "DoesNotExist":
            return not chosen
    return bool(chosen)
