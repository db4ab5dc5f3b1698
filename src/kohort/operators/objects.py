"""Building and reading of the objects that stand-ins create."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.api.times import format_time
from kohort.jobs.objects import controller_owner, metadata, value_at

SERVICES: Final = Resource("", "v1", "Service", "services", namespaced=True)


def controller_reference(resource: Resource, owner: JsonObject) -> JsonObject:
    """The owner reference of an object that its owner controls."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_controlled_by(child: JsonObject, owner: JsonObject) -> bool:
    """Whether the object has this owner, not an earlier one of the same name, as its controller."""
    reference = controller_owner(child)
    return reference is not None and reference.get("uid") == owner["metadata"]["uid"]


def child_of(resource: Resource, name: str, owner: JsonObject, **fields: Any) -> JsonObject:
    """An object in the namespace of its owner; the executor adds the owner reference."""
    head = {"name": name, "namespace": metadata(owner).get("namespace", "")}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": head, **fields}


def pod_from_template(template: JsonObject, name: str, owner: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    """A pod of a template under a name, with further labels; the template is not modified."""
    given = template.get("metadata") or {}
    kept = {field: deepcopy(given[field]) for field in ("annotations", "finalizers") if given.get(field)}
    head = {"name": name, "namespace": metadata(owner).get("namespace", "")}
    own = {**(given.get("labels") or {}), **labels}
    spec = deepcopy(template.get("spec") or {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, **head, "labels": own}, "spec": spec}


def headless_service(name: str, owner: JsonObject, selector: Mapping[str, str], **spec: Any) -> JsonObject:
    """A Service without an address of its own, for host names of pods."""
    resource = Resource("", "v1", "Service", "services", namespaced=True)
    return child_of(resource, name, owner, spec={"clusterIP": "None", "selector": dict(selector), **spec})


def add_variables(containers: Iterable[JsonObject], variables: Mapping[str, str | JsonObject]) -> None:
    """Append variables to the environment of containers, in place; of two with one name the later one is used."""
    for container in containers:
        added = [
            {"name": name, "value" if isinstance(value, str) else "valueFrom": value}
            for name, value in variables.items()
        ]
        container["env"] = [*(container.get("env") or ()), *added]


def add_missing_variables(containers: Iterable[JsonObject], variables: Sequence[JsonObject]) -> None:
    """Append those variables that containers don't define, in place."""
    for container in containers:
        present = container.get("env") or []
        names = {each.get("name") for each in present}
        container["env"] = [*present, *(each for each in deepcopy(variables) if each["name"] not in names)]


def phase(pod: JsonObject) -> str:
    """The phase of a pod."""
    return value_at(pod, ("status", "phase")) or "Pending"


def is_ready(pod: JsonObject) -> bool:
    """Whether a pod is ready."""
    return has_condition(pod, "Ready")


def has_condition(obj: JsonObject, type_: str) -> bool:
    """Whether a condition is True."""
    return is_true(find_condition(value_at(obj, ("status", "conditions")) or (), type_))


def is_true(condition: JsonObject | None) -> bool:
    """Whether a condition is True."""
    return condition is not None and condition.get("status") == "True"


def find_condition(conditions: Iterable[JsonObject], type_: str) -> JsonObject | None:
    """The condition of a type."""
    return next((each for each in conditions if each.get("type") == type_), None)


def set_condition(conditions: list[JsonObject], new: JsonObject, now: datetime) -> bool:
    """Set a condition, in place; returns whether anything changed. The time changes only with the status."""
    old = find_condition(conditions, new["type"])
    if old is None:
        conditions.append({**new, "lastTransitionTime": format_time(now)})
        return True
    if all(old.get(name) == value for name, value in new.items()):
        return False
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else None
    old.update({**new, "lastTransitionTime": since or format_time(now)})
    return True


def instant(text: str | None) -> datetime | None:
    """The time in a field."""
    return datetime.fromisoformat(text) if text else None


def later(since: str | None, seconds: float | None) -> datetime | None:
    """The time so many seconds after that in a field; None if one of both is not set."""
    began = instant(since)
    return began + timedelta(seconds=seconds) if began is not None and seconds is not None else None
