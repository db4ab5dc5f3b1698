"""LimitRanger: defaults and bounds of container resources from LimitRanges."""

from collections.abc import Iterator, Mapping
from typing import Any

from kohort.api.codec import JsonObject
from kohort.api.quantity import Quantity
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin, is_write_of
from kohort.embedded.storage import Store
from kohort.kube.errors import forbidden

RANGES = "limitranges"
_ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = ("initContainers", "containers")

_Amounts = Mapping[str, Any]


class LimitRanger(NoopPlugin):
    """Applies the LimitRanges of a namespace to its pods and claims."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def _items(self, namespace: str, kind: str) -> list[JsonObject]:
        ranges = (entry.object for entry in self._store.list(RANGES, namespace).entries)
        return [item for each in ranges for item in each["spec"].get("limits") or () if item.get("type") == kind]

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Sets the namespace's defaults on the containers of a new pod."""
        pod = attributes.object
        if pod is None or not is_write_of(attributes, "pods", "CREATE"):
            return None
        for item in self._items(attributes.namespace, "Container"):
            pod = _with_defaults(pod, item)
        return pod

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies resources outside of the bounds, listing all violations."""
        found = attributes.object
        if found is None:
            return
        problems: list[str] = []
        if is_write_of(attributes, "pods", "CREATE"):
            problems = [*self._container_problems(attributes, found), *self._pod_problems(attributes, found)]
        elif is_write_of(attributes, "persistentvolumeclaims", "CREATE", "UPDATE"):
            problems = list(self._claim_problems(attributes, found))
        if problems:
            listed = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise forbidden(attributes.about, listed)

    def _container_problems(self, attributes: AdmissionAttributes, pod: JsonObject) -> Iterator[str]:
        for item in self._items(attributes.namespace, "Container"):
            for name in _LISTS:
                for container in pod["spec"].get(name) or ():
                    resources = container.get("resources") or {}
                    yield from _problems(item, resources.get("requests") or {}, resources.get("limits") or {})

    def _pod_problems(self, attributes: AdmissionAttributes, pod: JsonObject) -> Iterator[str]:
        items = self._items(attributes.namespace, "Pod")
        if items:
            requests, limits = (_total(pod, kind) for kind in ("requests", "limits"))
            for item in items:
                yield from _problems(item, requests, limits)

    def _claim_problems(self, attributes: AdmissionAttributes, claim: JsonObject) -> Iterator[str]:
        requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
        for item in self._items(attributes.namespace, "PersistentVolumeClaim"):
            bounded: JsonObject = {name: item[name] for name in ("min", "max", "type") if name in item}
            yield from _problems(bounded, requests, requests)


def _with_defaults(pod: JsonObject, item: JsonObject) -> JsonObject:
    defaults, requests = item.get("default") or {}, item.get("defaultRequest") or {}
    notes: list[str] = []
    spec = dict(pod["spec"])
    for name in _LISTS:
        if spec.get(name):
            kind = "init container" if name == "initContainers" else "container"
            spec[name] = [_filled(each, defaults, requests, kind, notes) for each in spec[name]]
    if not notes:
        return pod
    annotations = dict(pod["metadata"].get("annotations") or {})
    annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"
    return {**pod, "metadata": {**pod["metadata"], "annotations": annotations}, "spec": spec}


def _filled(container: JsonObject, limits: _Amounts, requests: _Amounts, kind: str, notes: list[str]) -> JsonObject:
    resources = container.get("resources") or {}
    given_limits, given_requests = resources.get("limits") or {}, resources.get("requests") or {}
    new_limits = sorted(limits.keys() - given_limits.keys())
    new_requests = sorted(requests.keys() - given_requests.keys())
    if not new_limits and not new_requests:
        return container
    for names, what in ((new_requests, "request"), (new_limits, "limit")):
        if names:
            notes.append(f"{', '.join(names)} {what} for {kind} {container.get('name')}")
    filled = {**resources}
    if limits or given_limits:
        filled["limits"] = {**limits, **given_limits}
    filled["requests"] = {**requests, **given_requests}
    return {**container, "resources": filled}


def _total(pod: JsonObject, kind: str) -> dict[str, Quantity]:
    """The resources of a pod: the sum of its containers, or the largest init container."""
    total: dict[str, Quantity] = {}
    for container in pod["spec"].get("containers") or ():
        for name, amount in ((container.get("resources") or {}).get(kind) or {}).items():
            parsed = Quantity.parse(amount)
            total[name] = total[name] + parsed if name in total else parsed
    for container in pod["spec"].get("initContainers") or ():
        for name, amount in ((container.get("resources") or {}).get(kind) or {}).items():
            total[name] = max(total.get(name, Quantity(0)), Quantity.parse(amount))
    return total


def _quantity(value: Any) -> Quantity:
    return value if isinstance(value, Quantity) else Quantity.parse(value)


def _problems(item: JsonObject, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    kind = item["type"]
    for name, bound in sorted((item.get("min") or {}).items()):
        yield from _too_little(name, bound, kind, requests, limits)
    for name, bound in sorted((item.get("max") or {}).items()):
        yield from _too_much(name, bound, kind, requests, limits)
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        yield from _too_wide(name, bound, kind, requests, limits)


def _too_little(name: str, bound: Any, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    least = Quantity.parse(bound)
    if name not in requests:
        yield f"minimum {name} usage per {kind} is {bound}.  No request is specified"
    elif _quantity(requests[name]) < least:
        yield f"minimum {name} usage per {kind} is {bound}, but request is {_quantity(requests[name])}"
    elif name in limits and _quantity(limits[name]) < least:
        yield f"minimum {name} usage per {kind} is {bound}, but limit is {_quantity(limits[name])}"


def _too_much(name: str, bound: Any, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    most = Quantity.parse(bound)
    if name not in limits:
        yield f"maximum {name} usage per {kind} is {bound}.  No limit is specified"
    elif _quantity(limits[name]) > most:
        yield f"maximum {name} usage per {kind} is {bound}, but limit is {_quantity(limits[name])}"
    elif name in requests and _quantity(requests[name]) > most:
        yield f"maximum {name} usage per {kind} is {bound}, but request is {_quantity(requests[name])}"


def _too_wide(name: str, bound: Any, kind: str, requests: _Amounts, limits: _Amounts) -> Iterator[str]:
    request, limit = (_quantity(each[name]) if name in each else Quantity(0) for each in (requests, limits))
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    if not request.nanos:
        yield f"{head}, but no request is specified or request is 0"
    elif not limit.nanos:
        yield f"{head}, but no limit is specified or limit is 0"
    elif limit.nanos > Quantity.parse(bound).nanos * request.nanos // 10**9:
        yield f"{head}, but provided ratio is {limit.nanos / request.nanos:.6f}"
