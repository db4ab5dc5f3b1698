"""Naming of definitions: accepted names and the conditions NamesAccepted and Established."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kohort.api.codec import Json
from kohort.api.conditions import is_true_in_json
from kohort.embedded.crds.defaults import default_names

APPROVED = "api-approved.kubernetes.io"


def establish(crd: Mapping[str, Any], others: Iterable[Mapping[str, Any]], now: str) -> dict[str, Json]:
    """The status of a definition, given the other definitions; `now` is the time of conditions."""
    status = crd.get("status") or {}
    names, problem = _accepted(crd, others)
    accepted = problem is None
    is_served = accepted or is_established(crd)
    conditions = [
        _condition("NamesAccepted", accepted, *(problem or ("NoConflicts", "no conflicts found"))),
        _condition("Established", is_served, *_establishing(is_served)),
        *_approval(crd),
    ]
    return {
        **status,
        "acceptedNames": names,
        "conditions": [_dated(each, status, now) for each in conditions],
        "storedVersions": _stored_versions(crd),
    }


def is_established(crd: Mapping[str, Any]) -> bool:
    """Whether the definition is established."""
    return is_true_in_json(crd, "Established")


def _establishing(is_served: object) -> tuple[str, str]:
    if is_served:
        return "InitialNamesAccepted", "the initial names have been accepted"
    return "NotAccepted", "not all names are accepted"


_NAMES = (("plural", "PluralConflict"), ("singular", "SingularConflict"))
_KINDS = (("kind", "KindConflict"), ("listKind", "ListKindConflict"))


Names = Mapping[str, Any]
_Conflict = tuple[str, str]
"""Reason and message."""


def _accepted(crd: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Json], _Conflict | None]:
    """The accepted names, and the conflict if any."""
    asked = default_names(crd["spec"]["names"])
    had = dict((crd.get("status") or {}).get("acceptedNames") or {})
    resources, kinds = _taken(crd, others)
    names = {**had, "categories": asked.get("categories") or []}
    problems = [
        *_conflicts(_NAMES, asked, had, resources, names),
        *_short_conflicts(asked, had, resources, names),
        *_conflicts(_KINDS, asked, had, kinds, names),
    ]
    # As in kube-apiserver, the last conflict is reported.
    return {name: value for name, value in names.items() if value}, problems[-1] if problems else None


def _conflicts(
    parts: tuple[tuple[str, str], ...], asked: Names, had: Names, taken: set[str], names: dict[str, Json]
) -> Iterator[_Conflict]:
    """Conflicting names; the others are added to `names`."""
    for part, reason in parts:
        if asked.get(part) != had.get(part) and asked.get(part) in taken:
            yield reason, f'"{asked[part]}" is already in use'
        else:
            names[part] = asked.get(part)


def _short_conflicts(asked: Names, had: Names, taken: set[str], names: dict[str, Json]) -> Iterator[_Conflict]:
    wanted = [each for each in asked.get("shortNames") or () if each not in (had.get("shortNames") or ())]
    conflicts = [f'"{each}" is already in use' for each in wanted if each in taken]
    if conflicts:
        yield "ShortNamesConflict", conflicts[0] if len(conflicts) == 1 else f"[{', '.join(conflicts)}]"
    else:
        names["shortNames"] = asked.get("shortNames") or []


def _taken(crd: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> tuple[set[str], set[str]]:
    """Resource names and kinds of other definitions in the group."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["metadata"]["name"] == crd["metadata"]["name"] or other["spec"]["group"] != crd["spec"]["group"]:
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        resources |= {str(names.get("plural")), str(names.get("singular")), *(names.get("shortNames") or ())}
        kinds |= {str(names.get("kind")), str(names.get("listKind"))}
    return resources, kinds


def _approval(crd: Mapping[str, Any]) -> list[dict[str, Json]]:
    """Groups of Kubernetes require an approval annotation."""
    group = f".{crd['spec']['group']}"
    if not group.endswith((".k8s.io", ".kubernetes.io")):
        return []
    text = ((crd.get("metadata") or {}).get("annotations") or {}).get(APPROVED, "")
    reason, approved = "MissingAnnotation", False
    if text.startswith("unapproved"):
        reason = "UnapprovedAnnotation"
    elif text:
        reason, approved = "ApprovedAnnotation", True
    message = f"approved in {text}" if approved else "not approved"
    return [_condition("KubernetesAPIApprovalPolicyConformant", approved, reason, message)]


def _condition(kind: str, holds: object, reason: str, message: str) -> dict[str, Json]:
    return {"type": kind, "status": "True" if holds else "False", "reason": reason, "message": message}


def _dated(condition: dict[str, Json], status: Mapping[str, Any], now: str) -> dict[str, Json]:
    former = next((each for each in status.get("conditions") or () if each["type"] == condition["type"]), None)
    changed = former is None or former["status"] != condition["status"]
    return {"lastTransitionTime": now if changed or former is None else former["lastTransitionTime"], **condition}


def _stored_versions(crd: Mapping[str, Any]) -> list[str]:
    stored = list((crd.get("status") or {}).get("storedVersions") or ())
    current = next((str(each["name"]) for each in crd["spec"]["versions"] if each.get("storage")), None)
    return stored if current is None or current in stored else [*stored, current]
