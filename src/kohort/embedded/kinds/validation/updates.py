"""Validation of updates: immutable fields."""

from collections.abc import Callable, Mapping
from typing import Any

from kohort.api.codec import JsonMapping
from kohort.api.conditions import is_true_in_json
from kohort.api.fields import ROOT, forbidden
from kohort.embedded.kinds.validation.name_formats import IMMUTABLE
from kohort.embedded.kinds.validation.problems import Problems, bad, unchanged

_SPEC = ROOT / "spec"
_POD_WORDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_STATEFUL_FIELDS = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_STATEFUL_FIXED = ("selector", "serviceName", "podManagementPolicy")
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")
"""Fields of the template that may change in a suspended Job that has not started."""


def _part(obj: JsonMapping, name: str) -> Mapping[str, Any]:
    return obj.get(name) or {}


def _pod(new: JsonMapping, old: JsonMapping) -> Problems:
    now, before = _part(new, "spec"), _part(old, "spec")
    if now == before:
        return
    for name in ("containers", "initContainers"):
        if len(now.get(name) or ()) != len(before.get(name) or ()):
            yield forbidden(_SPEC / name, "pod updates may not add or remove containers")
            return
    yield from _deadline(now, before)
    yield from _tolerations(now, before)
    yield from _gates(now, before)
    if before.get("schedulingGates"):
        yield from _narrowed(now, before)
    if _settled(now, before) != _settled(before, before):
        yield forbidden(_SPEC, _POD_WORDS)


def _settled(spec: JsonMapping, before: JsonMapping) -> dict[str, Any]:
    """A pod's spec without its mutable fields: images, deadline, tolerations and gates."""
    loose = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    if before.get("schedulingGates"):
        # A gated pod may get further node selectors.
        loose |= {"nodeSelector", "affinity"}
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        loose.add("terminationGracePeriodSeconds")
    kept = {name: value for name, value in spec.items() if name not in loose}
    for name in ("containers", "initContainers"):
        if name in kept:
            kept[name] = [{**one, "image": ""} for one in kept[name]]
    return kept


def _deadline(now: JsonMapping, before: JsonMapping) -> Problems:
    new, old = now.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is None and old is not None:
        yield bad(_SPEC / "activeDeadlineSeconds", None, "must not update from a positive integer to nil value")
    elif new is not None and old is not None and new > old:
        yield bad(_SPEC / "activeDeadlineSeconds", new, "must be less than or equal to previous value")


def _tolerations(now: JsonMapping, before: JsonMapping) -> Problems:
    kept = [_essence(one) for one in now.get("tolerations") or ()]
    if any(_essence(one) not in kept for one in before.get("tolerations") or ()):
        yield forbidden(_SPEC / "tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _essence(toleration: JsonMapping) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _gates(now: JsonMapping, before: JsonMapping) -> Problems:
    known = {one.get("name") for one in before.get("schedulingGates") or ()}
    for index, one in enumerate(now.get("schedulingGates") or ()):
        if one.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{one.get('name')}'"
            yield forbidden((_SPEC / "schedulingGates")[index] / "name", why)


def _narrowed(now: JsonMapping, before: JsonMapping) -> Problems:
    """Whether the node selector of a gated pod only grows."""
    wanted, former = now.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(wanted.get(key) != value for key, value in former.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield bad(_SPEC / "nodeSelector", now.get("nodeSelector"), why)


_JOB_FIXED = (
    "selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
)  # fmt: skip


def _job(new: JsonMapping, old: JsonMapping) -> Problems:
    now, before = _part(new, "spec"), _part(old, "spec")
    yield from _completions(now, before)
    yield from unchanged(now, before, _SPEC, *_JOB_FIXED)
    template, former = _part(now, "template"), _part(before, "template")
    if template == former:
        return
    if _may_be_steered(old):
        template, former = _steered(template), _steered(former)
    if template != former:
        yield bad(_SPEC / "template", now.get("template"), IMMUTABLE)


def _completions(now: JsonMapping, before: JsonMapping) -> Problems:
    wanted = now.get("completions")
    if wanted == before.get("completions"):
        return
    if now.get("completionMode") != "Indexed":
        yield bad(_SPEC / "completions", wanted, IMMUTABLE)
    elif wanted is not None and wanted != now.get("parallelism"):
        yield bad(_SPEC / "completions", wanted, "can only be modified in tandem with spec.parallelism")


def _may_be_steered(old: JsonMapping) -> bool:
    """Whether a Job is suspended and has never started or has no active pod."""
    if not _part(old, "spec").get("suspend"):
        return False
    status = _part(old, "status")
    if not status.get("startTime"):
        return True
    return is_true_in_json(old, "Suspended") and not status.get("active")


def _steered(template: JsonMapping) -> dict[str, Any]:
    """A template without its mutable scheduling directives and resources."""
    spec = {name: value for name, value in _part(template, "spec").items() if name not in _SCHEDULING}
    affinity = {name: value for name, value in (spec.pop("affinity", None) or {}).items() if name != "nodeAffinity"}
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [{**one, "resources": {}} for one in spec[name]]
    heading = {
        name: value for name, value in _part(template, "metadata").items() if name not in ("labels", "annotations")
    }
    return {**template, "metadata": heading, "spec": {**spec, **({"affinity": affinity} if affinity else {})}}


def _selector(new: JsonMapping, old: JsonMapping) -> Problems:
    yield from unchanged(_part(new, "spec"), _part(old, "spec"), _SPEC, "selector")


def _stateful_set(new: JsonMapping, old: JsonMapping) -> Problems:
    now, before = _part(new, "spec"), _part(old, "spec")
    yield from unchanged(now, before, _SPEC, *_STATEFUL_FIXED)
    names = (now.keys() | before.keys()) - {*_STATEFUL_FIELDS, *_STATEFUL_FIXED}
    if any(now.get(name) != before.get(name) for name in names):
        listed = ", ".join(f"'{name}'" for name in _STATEFUL_FIELDS[:-1])
        why = f"updates to statefulset spec for fields other than {listed} and '{_STATEFUL_FIELDS[-1]}' are forbidden"
        yield forbidden(_SPEC, why)


def _priority_class(new: JsonMapping, old: JsonMapping) -> Problems:
    if (new.get("value") or 0) != (old.get("value") or 0):
        yield forbidden(ROOT / "value", "may not be changed in an update.")
    yield from unchanged(new, old, ROOT, "preemptionPolicy")


def _sealed(new: JsonMapping, old: JsonMapping) -> Problems:
    if not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not new.get("immutable"):
        yield forbidden(ROOT / "immutable", why)
    for name in ("data", "binaryData"):
        if (new.get(name) or {}) != (old.get(name) or {}):
            yield forbidden(ROOT / name, why)


def _secret(new: JsonMapping, old: JsonMapping) -> Problems:
    yield from unchanged(new, old, ROOT, "type")
    yield from _sealed(new, old)


def _binding(new: JsonMapping, old: JsonMapping) -> Problems:
    if new.get("roleRef") != old.get("roleRef"):
        role = _part(new, "roleRef")
        shown = {"APIGroup": role.get("apiGroup"), "Kind": role.get("kind"), "Name": role.get("name")}
        yield bad(ROOT / "roleRef", shown, IMMUTABLE)


def _storage_class(new: JsonMapping, old: JsonMapping) -> Problems:
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if new.get(name) != old.get(name):
            yield bad(ROOT / name, None, IMMUTABLE)


def _whole_spec(new: JsonMapping, old: JsonMapping) -> Problems:
    yield from unchanged(new, old, ROOT, "spec")


def _service(new: JsonMapping, old: JsonMapping) -> Problems:
    now, before = _part(new, "spec"), _part(old, "spec")
    kept = before.get("clusterIP")
    if kept and now.get("type") == before.get("type") != "ExternalName" and now.get("clusterIP") != kept:
        shown = now.get("clusterIPs") or [now.get("clusterIP") or ""]
        yield bad((_SPEC / "clusterIPs")[0], shown, "may not change once set")


_RBAC = "rbac.authorization.k8s.io"
UPDATES: dict[str, Callable[[JsonMapping, JsonMapping], Problems]] = {
    f"clusterrolebindings.{_RBAC}": _binding,
    "configmaps": _sealed,
    "daemonsets.apps": _selector,
    "deployments.apps": _selector,
    "jobs.batch": _job,
    "pods": _pod,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "replicasets.apps": _selector,
    "resourceclaims.resource.k8s.io": _whole_spec,
    "resourceclaimtemplates.resource.k8s.io": _whole_spec,
    f"rolebindings.{_RBAC}": _binding,
    "secrets": _secret,
    "services": _service,
    "statefulsets.apps": _stateful_set,
    "storageclasses.storage.k8s.io": _storage_class,
}


def update_problems(key: str, new: JsonMapping, old: JsonMapping) -> Problems:
    """Errors for forbidden changes."""
    rule = UPDATES.get(key)
    if rule:
        yield from rule(new, old)
