"""The managed ancestor of a job, which is queued instead: the topmost owner that qualifies (JOB-3)."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from kohort.api.codec import JsonObject
from kohort.jobs.effects import record_event
from kohort.jobs.errors import RetryError
from kohort.jobs.objects import metadata, queue_name, uid
from kohort.jobs.ownership import claimed_controller, controls
from kohort.jobs.registry import FrameworkRegistry, group_kind

MAX_DEPTH = 10

Fetch = Callable[[str, str, str, str, str], Awaitable[JsonObject | None]]
"""From apiVersion, kind, namespace, name and UID to the object of that name, or None."""


async def managed_ancestor(
    obj: JsonObject, registry: FrameworkRegistry, fetch: Fetch, *, without_queue_name: bool
) -> JsonObject | None:
    """The managed ancestor of a job, or None; raises RetryError if it cannot be determined (JOB-3)."""
    found: JsonObject | None = None
    seen, current = {uid(obj)}, obj
    for _ in range(MAX_DEPTH):
        owner = await _owner(current, registry, fetch)
        if owner is None:
            return found
        if uid(owner) in seen:
            raise RetryError("cyclic ownership")
        seen.add(uid(owner))
        if _qualifies(owner, registry, without_queue_name=without_queue_name):
            found = owner
        current = owner
    if known_controller(current, registry) is None:
        return found
    why = f"Terminated search for Kueue-managed Job because ancestor depth exceeded limit of {MAX_DEPTH}"
    raise RetryError(why, (record_event(obj, "JobNestingTooDeep", why, "Warning"),))


async def _owner(obj: JsonObject, registry: FrameworkRegistry, fetch: Fetch) -> JsonObject | None:
    """The controller of an object: of a known kind, with the referenced UID, and verified to control it (DEV-9)."""
    reference = known_controller(obj, registry)
    if reference is None:
        return None
    namespace = metadata(obj).get("namespace", "")
    owner = await fetch(
        reference["apiVersion"], reference["kind"], namespace, reference["name"], reference.get("uid", "")
    )
    if owner is None:
        raise RetryError(f"workload owner not found: {reference['kind']} {namespace}/{reference['name']}")
    return owner if uid(owner) == reference.get("uid") and controls(owner, obj) else None


def known_controller(obj: JsonObject, registry: FrameworkRegistry) -> Mapping[str, Any] | None:
    """The reference to an object's controller, if it is of a known kind (JOB-3, DEV-9)."""
    reference = claimed_controller(obj)
    if reference is None or not registry.is_known(group_kind(reference["apiVersion"], reference["kind"])):
        return None
    return reference


def _qualifies(owner: JsonObject, registry: FrameworkRegistry, *, without_queue_name: bool) -> bool:
    kind = group_kind(owner.get("apiVersion", ""), owner.get("kind", ""))
    if not registry.is_managed(kind) or not (without_queue_name or queue_name(owner)):
        return False
    framework = registry.framework(kind)
    return framework is None or framework.claims(owner)


def owner_is_managed_kind(obj: JsonObject, registry: FrameworkRegistry) -> bool:
    """Whether the direct owner is of a kind whose objects are always queued, with any labels (JOB-8, JOB-189)."""
    reference = claimed_controller(obj)
    if reference is None:
        return False
    kind = group_kind(reference["apiVersion"], reference["kind"])
    framework = registry.framework(kind)
    return registry.is_managed(kind) and (framework is None or framework.always_claims)
