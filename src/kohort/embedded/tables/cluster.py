"""Rows of nodes, namespaces, events, quotas, RBAC and admission configuration."""

from datetime import datetime

from kohort.api.codec import JsonMapping
from kohort.api.conditions import is_true_in_json
from kohort.embedded.tables.cells import (
    NONE,
    UNSET,
    Cells,
    TableLayout,
    age,
    containers,
    dig,
    is_deleted,
    labels_text,
    layout,
    name_of,
    number,
)
from kohort.embedded.tables.durations import time_since

_ROLE = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node(node: JsonMapping, now: datetime) -> Cells:
    info = dig(node, "status", "nodeInfo") or {}
    kernel = info.get("kernelVersion") or _UNKNOWN
    architecture = f" ({info['architecture']})" if info.get("architecture") else ""
    return (
        name_of(node),
        _node_status(node),
        _node_roles(node),
        age(node, now),
        info.get("kubeletVersion", ""),
        _node_address(node, "InternalIP"),
        _node_address(node, "ExternalIP"),
        info.get("osImage") or _UNKNOWN,
        kernel + architecture,
        info.get("containerRuntimeVersion") or _UNKNOWN,
    )


def _node_status(node: JsonMapping) -> str:
    ready = [one for one in dig(node, "status", "conditions") or () if one.get("type") == "Ready"]
    word = "Unknown" if not ready else "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if dig(node, "spec", "unschedulable") else word


def _node_roles(node: JsonMapping) -> str:
    labels = dig(node, "metadata", "labels") or {}
    roles = {key.removeprefix(_ROLE) for key in labels if key.startswith(_ROLE)}
    roles.add(labels.get("kubernetes.io/role", ""))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(node: JsonMapping, kind: str) -> str:
    addresses = dig(node, "status", "addresses") or ()
    return next((one.get("address", "") for one in addresses if one.get("type") == kind), NONE)


def _event(event: JsonMapping, now: datetime) -> Cells:
    first = time_since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = time_since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    count = event.get("count") or 1
    series = event.get("series")
    if series:
        last, count = time_since(series.get("lastObservedTime"), now), series.get("count", 0)
    about = event.get("involvedObject") or {}
    target = "/".join(part for part in (about.get("kind", "").lower(), about.get("name", "")) if part)
    return (
        last,
        event.get("type", ""),
        event.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        _event_source(event),
        event.get("message", "").strip(),
        first,
        count,
        name_of(event),
    )


def _event_source(event: JsonMapping) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or event.get("reportingInstance") or ""
    return ", ".join(part for part in (component, host) if part)


def _namespace(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), dig(obj, "status", "phase") or "", age(obj, now))


def _secret(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now))


def _config_map(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), len(obj.get("data") or ()) + len(obj.get("binaryData") or ()), age(obj, now))


def _named(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), age(obj, now))


def _lease(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), dig(obj, "spec", "holderIdentity") or "", age(obj, now))


def _priority_class(obj: JsonMapping, now: datetime) -> Cells:
    is_default = bool(obj.get("globalDefault"))
    return (name_of(obj), number(obj, "value"), is_default, age(obj, now), obj.get("preemptionPolicy", ""))


def _quota(obj: JsonMapping, now: datetime) -> Cells:
    hard, used = dig(obj, "status", "hard") or {}, dig(obj, "status", "used") or {}
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    requests = [text for name, text in texts.items() if not name.startswith("limits.")]
    return (name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now))


def _binding(obj: JsonMapping, now: datetime) -> Cells:
    role = obj.get("roleRef") or {}
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in obj.get("subjects") or ():
        name = one.get("name", "")
        text = f"{one.get('namespace', '')}/{name}" if one.get("kind") == "ServiceAccount" else name
        subjects.setdefault(one.get("kind", ""), []).append(text)
    listed = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    return (name_of(obj), f"{role.get('kind', '')}/{role.get('name', '')}", age(obj, now), *listed)


def _webhooks(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), len(obj.get("webhooks") or ()), age(obj, now))


def _policy(obj: JsonMapping, now: datetime) -> Cells:
    kind = dig(obj, "spec", "paramKind")
    parameter = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return (name_of(obj), len(dig(obj, "spec", "validations") or ()), parameter, age(obj, now))


def _policy_binding(obj: JsonMapping, now: datetime) -> Cells:
    reference = dig(obj, "spec", "paramRef") or {}
    name = reference.get("name")
    parameter = f"{reference.get('namespace') or '*'}/{name}" if name else UNSET
    return (name_of(obj), dig(obj, "spec", "policyName") or "", parameter, age(obj, now))


def _api_service(obj: JsonMapping, now: datetime) -> Cells:
    service = dig(obj, "spec", "service")
    place = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    return (name_of(obj), place, _availability(obj), age(obj, now))


def _availability(obj: JsonMapping) -> str:
    found = [one for one in dig(obj, "status", "conditions") or () if one.get("type") == "Available"]
    if not found:
        return "Unknown"
    status, reason = found[0].get("status", "Unknown"), found[0].get("reason", "")
    return status if status == "True" else f"{status} ({reason})"


def _revision(obj: JsonMapping, now: datetime) -> Cells:
    owners = [one for one in dig(obj, "metadata", "ownerReferences") or () if one.get("controller")]
    return (name_of(obj), _owner(owners[0]) if owners else NONE, number(obj, "revision"), age(obj, now))


def _owner(owner: JsonMapping) -> str:
    group, _, _ = owner.get("apiVersion", "").rpartition("/")
    kind = owner.get("kind", "").lower()
    return f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner.get('name', '')}"


def _runtime_class(obj: JsonMapping, now: datetime) -> Cells:
    return (name_of(obj), obj.get("handler", ""), age(obj, now))


def _resource_claim(obj: JsonMapping, now: datetime) -> Cells:
    states = ["deleted"] if is_deleted(obj) else []
    if dig(obj, "status", "allocation"):
        states.append("allocated")
        states += ["reserved"] if dig(obj, "status", "reservedFor") else []
    elif not states:
        states.append("pending")
    return (name_of(obj), ",".join(states), age(obj, now))


def _resource_slice(obj: JsonMapping, now: datetime) -> Cells:
    spec = obj.get("spec") or {}
    return (
        name_of(obj),
        spec.get("nodeName", ""),
        spec.get("driver", ""),
        dig(spec, "pool", "name") or "",
        age(obj, now),
    )


def _pod_template(obj: JsonMapping, now: datetime) -> Cells:
    template = obj.get("template") or {}
    return (name_of(obj), *containers(template), labels_text(dig(template, "metadata", "labels")))


def _definition(obj: JsonMapping, now: datetime) -> Cells:
    spec, names = obj.get("spec") or {}, dig(obj, "spec", "names") or {}
    served = [one for one in spec.get("versions") or () if one.get("served")]
    return (
        name_of(obj),
        spec.get("scope", ""),
        ",".join(f"{one.get('name', '')}{'(storage)' if one.get('storage') else ''}" for one in served),
        dig(obj, "metadata", "creationTimestamp"),
        spec.get("group", ""),
        names.get("kind", ""),
        ",".join(names.get("shortNames") or ()),
        is_true_in_json(obj, "Established"),
    )


_BINDING = layout("Name|Role|Age|Users+|Groups+|ServiceAccounts+", _binding)
_WEBHOOKS = layout("Name|Webhooks:integer|Age", _webhooks)
_NAMED = layout("Name|Age", _named)
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

CLUSTER: dict[str, TableLayout] = {
    "customresourcedefinitions.apiextensions.k8s.io": layout(
        "Name|Scope|Versions|Created At:date|Group+|Kind+|ShortNames+|Established:boolean+", _definition
    ),
    "events": layout("Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name+", _event),
    "nodes": layout(
        "Name|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+", _node
    ),
    "priorityclasses.scheduling.k8s.io": layout(
        "Name|Value:integer|Global-Default:boolean|Age|PreemptionPolicy", _priority_class
    ),
    "apiservices.apiregistration.k8s.io": layout("Name|Service|Available|Age", _api_service),
    f"clusterrolebindings.{_RBAC}": _BINDING,
    "configmaps": layout("Name|Data|Age", _config_map),
    "controllerrevisions.apps": layout("Name|Controller|Revision|Age", _revision),
    "deviceclasses.resource.k8s.io": _NAMED,
    "leases.coordination.k8s.io": layout("Name|Holder|Age", _lease),
    f"mutatingwebhookconfigurations.{_ADMISSION}": _WEBHOOKS,
    "namespaces": layout("Name|Status|Age", _namespace),
    "podtemplates": layout("Name|Containers|Images|Pod Labels", _pod_template),
    "resourceclaims.resource.k8s.io": layout("Name|State|Age", _resource_claim),
    "resourceclaimtemplates.resource.k8s.io": _NAMED,
    "resourcequotas": layout("Name|Request|Limit|Age", _quota),
    "resourceslices.resource.k8s.io": layout("Name|Node|Driver|Pool|Age", _resource_slice),
    f"rolebindings.{_RBAC}": _BINDING,
    "runtimeclasses.node.k8s.io": layout("Name|Handler|Age", _runtime_class),
    "secrets": layout("Name|Type|Data|Age", _secret),
    "serviceaccounts": _NAMED,
    f"validatingadmissionpolicies.{_ADMISSION}": layout("Name|Validations:integer|ParamKind|Age", _policy),
    f"validatingadmissionpolicybindings.{_ADMISSION}": layout("Name|PolicyName|ParamRef|Age", _policy_binding),
    f"validatingwebhookconfigurations.{_ADMISSION}": _WEBHOOKS,
}
