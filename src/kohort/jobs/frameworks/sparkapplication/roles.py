"""The driver and the executors of a SparkApplication: their pod templates, and what a start changes (JOB-141, JOB-142).

Spark makes the pods of fields of a role. Of its `template` it takes metadata, and gates.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.fields import ROOT, Path, required
from kohort.jobs.errors import InvalidFieldError
from kohort.jobs.frameworks.sparkapplication.requests import RULE, container_resources
from kohort.jobs.normalising import without_empty
from kohort.jobs.objects import set_value, value_at
from kohort.jobs.podsets import PodSetInfo, merge_info, restore_info

SPEC: Final[Path] = ROOT / "spec"
_LOCAL_DIRECTORY: Final = "spark-local-dir-"
_METADATA: Final = ("annotations", "labels")
_SCHEDULING: Final = ("nodeSelector", "tolerations")
_GATES: Final = ("template", "spec", "schedulingGates")


@dataclass(frozen=True, slots=True)
class SparkRole:
    """A role, and the name of its container."""

    name: str
    container: str

    @property
    def path(self) -> Path:
        """The path of its fields."""
        return SPEC / self.name

    def fields(self, obj: JsonObject) -> JsonObject:
        """Its fields in an application; raises InvalidFieldError if there are none."""
        found = value_at(obj, ("spec", self.name))
        if found is None:
            raise InvalidFieldError(required(self.path, f"a SparkApplication has a {self.name}", RULE))
        return found  # type: ignore[no-any-return]

    def created_template(self) -> JsonObject:
        """The template that a start adds to a role without one."""
        return {"metadata": {}, "spec": {"containers": [{"name": self.container, "resources": {}}]}}


DRIVER: Final = SparkRole("driver", "spark-kubernetes-driver")
EXECUTOR: Final = SparkRole("executor", "spark-kubernetes-executor")
ROLES: Final = (DRIVER, EXECUTOR)


# Templates


def pod_template(obj: JsonObject, role: SparkRole) -> JsonObject:
    """The template of the pods of a role; raises InvalidFieldError."""
    fields = role.fields(obj)
    mounted = [each for each in fields.get("volumeMounts") or () if _is_mounted(each, obj)]
    container = {"name": role.container, "resources": container_resources(obj, fields, role.path)}
    spec = {
        "containers": _distinct([{**container, "volumeMounts": mounted} if mounted else container], fields, "sidecars"),
        "initContainers": _distinct([], fields, "initContainers"),
        "volumes": _volumes(obj, [each["name"] for each in mounted]),
        "affinity": fields.get("affinity"),
        "priorityClassName": fields.get("priorityClassName"),
    }
    written = {name: value for name, value in spec.items() if value}
    return deepcopy({"metadata": _metadata(fields), "spec": {**written, **_scheduling(fields)}})


def _metadata(fields: JsonObject) -> JsonObject:
    """Labels and annotations of the template, overridden by those of the role."""
    base = value_at(fields, ("template", "metadata")) or {}
    found = {name: {**(base.get(name) or {}), **(fields.get(name) or {})} for name in _METADATA}
    return {name: entries for name, entries in found.items() if entries or fields.get(name) is not None}


def _scheduling(fields: JsonObject) -> JsonObject:
    found = {name: fields.get(name) for name in _SCHEDULING} | {"schedulingGates": value_at(fields, _GATES)}
    return {name: value for name, value in found.items() if value is not None}


def _distinct(containers: list[JsonObject], fields: JsonObject, name: str) -> list[JsonObject]:
    """The containers and those of a field, each name and image once."""
    seen = {(each["name"], each.get("image")) for each in containers}
    for each in fields.get(name) or ():
        identity = (each["name"], each.get("image"))
        if identity not in seen:
            seen.add(identity)
            containers.append(each)
    return containers


def _is_mounted(mount: JsonObject, obj: JsonObject) -> bool:
    """Whether a volume of the application is mounted; Spark itself mounts local directories."""
    names = {each["name"] for each in value_at(obj, ("spec", "volumes")) or ()}
    return mount["name"] in names and not mount["name"].startswith(_LOCAL_DIRECTORY)


def _volumes(obj: JsonObject, names: Sequence[str]) -> list[JsonObject]:
    volumes = {each["name"]: each for each in value_at(obj, ("spec", "volumes")) or ()}
    return [volumes[name] for name in dict.fromkeys(names)]


# Start and restore


def merge_role(role: SparkRole, fields: JsonObject, info: PodSetInfo, selector: Mapping[str, str]) -> None:
    """Merge an info and the node selector of the application into a role, in place (JOB-142)."""
    if not fields.get("template"):
        fields["template"] = role.created_template()
    part = _part_of(fields)
    if selector:
        part["spec"]["nodeSelector"] = {**selector, **(part["spec"].get("nodeSelector") or {})}
    merge_info(part, info)
    _write(fields, part)


def restore_role(role: SparkRole, fields: JsonObject, original: PodSetInfo) -> None:
    """Undo the merge, in place, also of the template that the start has added (DEV-15)."""
    own = replace(
        original,
        labels=_own(original.labels, fields, "labels"),
        annotations=_own(original.annotations, fields, "annotations"),
    )
    part = _part_of(fields)
    restore_info(part, own)
    _write(fields, part)
    if without_empty(fields.get("template")) == without_empty(role.created_template()):
        del fields["template"]


def _own(original: Mapping[str, str], fields: JsonObject, name: str) -> dict[str, str]:
    """The original entries of a role without those that only its template has."""
    role, template = fields.get(name) or {}, value_at(fields, ("template", "metadata", name)) or {}
    return {key: value for key, value in original.items() if key in role or template.get(key) != value}


def _part_of(fields: JsonObject) -> JsonObject:
    """The fields that a start changes, as a template."""
    metadata = {name: deepcopy(fields[name]) for name in _METADATA if fields.get(name) is not None}
    return {"metadata": metadata, "spec": deepcopy(_scheduling(fields))}


def _write(fields: JsonObject, part: JsonObject) -> None:
    """Write these fields back."""
    found = {**(part.get("metadata") or {}), **(part.get("spec") or {})}
    gates = found.pop("schedulingGates", None)
    for name in (*_METADATA, *_SCHEDULING):
        if name in found:
            fields[name] = found[name]
        else:
            fields.pop(name, None)
    if gates is not None:
        set_value(fields, _GATES, gates)
    elif value_at(fields, _GATES) is not None:
        del fields["template"]["spec"]["schedulingGates"]
