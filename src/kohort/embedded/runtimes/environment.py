"""The environment of a container, as the kubelet builds it: envFrom first, then env in order, `$(NAME)` expanded."""

import re
from collections.abc import Mapping

from kohort.embedded.nodes.runtime import ContainerWaiting
from kohort.embedded.runtimes.downward import MachineInfo, field_value, resource_value
from kohort.embedded.runtimes.pods import RunContainer, RunEnvVar, RunPod
from kohort.embedded.runtimes.sources import MissingReferenceError, Sources

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\)|)")


class NotYetError(Exception):
    """A container cannot be created yet; it is retried."""

    def __init__(self, why: ContainerWaiting) -> None:
        super().__init__(f"{why.reason}: {why.message}")
        self.why = why


def config_error(message: str) -> NotYetError:
    """CreateContainerConfigError."""
    return NotYetError(ContainerWaiting("CreateContainerConfigError", message))


def expand(text: str, values: Mapping[str, str]) -> str:
    """Expands `$(NAME)` for known names; `$$` stands for one dollar, other text is kept."""

    def replaced(match: re.Match[str]) -> str:
        whole, name = match.group(0), match.group(1)
        if whole == "$$":
            return "$"
        return whole if name is None else values.get(name, whole)

    return _REFERENCE.sub(replaced, text)


async def environment(pod: RunPod, container: RunContainer, sources: Sources, facts: MachineInfo) -> dict[str, str]:
    """The variables that a container declares; raises NotYetError if a source is missing."""
    values: dict[str, str] = {}
    try:
        for origin in container.env_from:
            found = await _entries(pod, origin.config_map_ref, origin.secret_ref, sources)
            values |= {origin.prefix + key: _text(value) for key, value in found.items()}
        for variable in container.env:
            value = await _value(pod, container, variable, values, sources, facts)
            if value is not None:
                values[variable.name] = value
    except MissingReferenceError as error:
        raise config_error(str(error)) from None
    _check(values)
    return values


def _check(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if "\0" in name or "\0" in value or "=" in name or not name:
            raise config_error(f"environment variable {name!r}: NUL byte or invalid name")


async def _value(
    pod: RunPod,
    container: RunContainer,
    variable: RunEnvVar,
    values: Mapping[str, str],
    sources: Sources,
    facts: MachineInfo,
) -> str | None:
    if variable.value or not variable.value_from:
        return expand(variable.value, values)
    origin = variable.value_from
    if reference := origin.get("fieldRef"):
        return field_value(pod, str(reference.get("fieldPath", "")), facts)
    if reference := origin.get("resourceFieldRef"):
        return resource_value(pod, container, reference, facts)
    if reference := origin.get("configMapKeyRef"):
        return await _entry(pod, "ConfigMap", reference, sources)
    if reference := origin.get("secretKeyRef"):
        return await _entry(pod, "Secret", reference, sources)
    raise config_error(f"environment variable {variable.name}: {', '.join(origin)} is not supported by this runtime")


async def _entries(
    pod: RunPod, config_map: Mapping[str, object] | None, secret: Mapping[str, object] | None, sources: Sources
) -> Mapping[str, bytes]:
    kind, reference = ("ConfigMap", config_map) if config_map is not None else ("Secret", secret or {})
    try:
        return await sources.text_of(kind, pod.metadata.namespace, str(reference.get("name", "")))
    except MissingReferenceError:
        if reference.get("optional"):
            return {}
        raise


async def _entry(pod: RunPod, kind: str, reference: Mapping[str, object], sources: Sources) -> str | None:
    name, key = str(reference.get("name", "")), str(reference.get("key", ""))
    found = await _entries(
        pod, reference if kind == "ConfigMap" else None, reference if kind == "Secret" else None, sources
    )
    if key in found:
        return _text(found[key])
    if reference.get("optional"):
        return None
    raise MissingReferenceError(f"couldn't find key {key} in {kind} {pod.metadata.namespace}/{name}")


def _text(value: bytes) -> str:
    """Keeps bytes that are not UTF-8 with surrogate escapes."""
    return value.decode(errors="surrogateescape")
