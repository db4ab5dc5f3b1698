"""Builders for tests of quota demand: one line per object, quantities as a user writes them."""

from typing import Any

from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Resources
from kohort.api.core.namespaces import LimitRange
from kohort.api.core.nodes import RuntimeClass
from kohort.api.core.pods import QuotaPodSpec
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.requests import Environment, RequestRules

Json = Any


def container(requests: Json = None, limits: Json = None, **more: Json) -> Json:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def sidecar(requests: Json) -> Json:
    return container(requests, restartPolicy="Always")


def template(*containers: Json, init: Json = (), **spec: Json) -> Json:
    return {"spec": {"containers": list(containers), "initContainers": list(init), **spec}}


def pod(*containers: Json, init: Json = (), **spec: Json) -> QuotaPodSpec:
    return from_json(template(*containers, init=init, **spec)["spec"], QuotaPodSpec)


def pod_set(requests: Json, count: int = 1, name: str = "main", **more: Json) -> Json:
    return {"name": name, "count": count, "template": template(container(requests)), **more}


def workload(*pod_sets: Json, **status: Json) -> Workload:
    metadata = {"name": "wl", "namespace": "ns"}
    return from_json({"metadata": metadata, "spec": {"podSets": list(pod_sets)}, "status": status}, Workload)


def admission(*assignments: Json) -> Json:
    return {"clusterQueue": "cq", "podSetAssignments": list(assignments)}


def assignment(usage: Json, name: str = "main", **more: Json) -> Json:
    return {"name": name, "flavors": dict.fromkeys(usage, "default"), "resourceUsage": usage, **more}


def limits(type_: str, name: str = "limits", **item: Json) -> LimitRange:
    spec = {"limits": [{"type": type_, **item}]}
    return from_json({"metadata": {"name": name}, "spec": spec}, LimitRange)


def runtime_class(name: str, overhead: Json) -> RuntimeClass:
    return from_json({"metadata": {"name": name}, "overhead": {"podFixed": overhead}}, RuntimeClass)


def environment(*limit_ranges: LimitRange, runtime_classes: tuple[RuntimeClass, ...] = ()) -> Environment:
    return Environment.of(limit_ranges, runtime_classes)


def transformation(input_: str, outputs: Json, strategy: str = "Retain", **more: Json) -> Json:
    return {"input": input_, "outputs": outputs, "strategy": strategy, **more}


def rules(*transformations: Json, exclude: tuple[str, ...] = ()) -> RequestRules:
    settings = {"transformations": list(transformations), "excludeResourcePrefixes": list(exclude)}
    return RequestRules.of(from_json(settings, Resources))
