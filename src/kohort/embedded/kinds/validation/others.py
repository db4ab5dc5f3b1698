"""Validation of Services, RBAC, webhooks, priority classes, ConfigMaps, Secrets, quotas and leases."""

from collections.abc import Mapping

from kohort.api.codec import JsonMapping
from kohort.api.fields import Path, forbidden, not_supported, too_long
from kohort.api.quantity import Quantity
from kohort.embedded.kinds.validation import name_formats
from kohort.embedded.kinds.validation.problems import Problems, bad, duplicates, missing, port, worded

_HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM = "system-"
_MAX_SECRET = 1024 * 1024
_KEYS_OF_TYPE = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def service_spec(spec: JsonMapping, path: Path) -> Problems:
    """Ports; several of them need names."""
    ports = spec.get("ports") or ()
    if not ports and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
        yield missing(path / "ports")
    for index, one in enumerate(ports):
        place = (path / "ports")[index]
        if len(ports) > 1 and not one.get("name"):
            yield missing(place / "name")
        yield from worded(place / "name", one.get("name"), name_formats.label)
        yield from port(one, place, "port")
        if isinstance(one.get("targetPort"), int):
            yield from port(one, place, "targetPort")
    yield from duplicates(ports, path / "ports", "name")


def role_binding(obj: JsonMapping, path: Path) -> Problems:
    """Role reference and subjects."""
    role, is_for_cluster = obj.get("roleRef") or {}, obj.get("kind") == "ClusterRoleBinding"
    kinds = ("ClusterRole",) if is_for_cluster else ("Role", "ClusterRole")
    if role.get("kind") not in kinds:
        yield not_supported(path / "roleRef" / "kind", role.get("kind", ""), kinds)
    for index, one in enumerate(obj.get("subjects") or ()):
        place = (path / "subjects")[index]
        yield from _subject(one, place)
        if is_for_cluster and one.get("kind") == "ServiceAccount" and not one.get("namespace"):
            yield missing(place / "namespace")
    if not role.get("name"):
        yield missing(path / "roleRef" / "name")


def _subject(one: JsonMapping, path: Path) -> Problems:
    kinds = ("ServiceAccount", "User", "Group")
    if one.get("kind") not in kinds:
        yield not_supported(path / "kind", one.get("kind", ""), kinds)
    if not one.get("name"):
        yield missing(path / "name")


def policy_rule(rule: JsonMapping, path: Path) -> Problems:
    """Verbs and resources of a rule."""
    if not rule.get("nonResourceURLs"):
        for name, word in (("apiGroups", "api group"), ("resources", "resource")):
            if not rule.get(name):
                yield missing(path / name, f"resource rules must supply at least one {word}")
    if not rule.get("verbs"):
        yield missing(path / "verbs")


def priority_class(obj: JsonMapping, path: Path) -> Problems:
    """User priorities are below the system's."""
    name, value = (obj.get("metadata") or {}).get("name", ""), obj.get("value") or 0
    if name.startswith(_SYSTEM):
        if name not in ("system-cluster-critical", "system-node-critical"):
            why = "priority class names with 'system-' prefix are reserved for system use only"
            yield forbidden(path / "metadata" / "name", f"{why}. error: {name} is not a known system priority class")
    elif value > _HIGHEST_USER_PRIORITY:
        yield forbidden(path / "value", f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}")


def webhook(hook: JsonMapping, path: Path) -> Problems:
    """A fully qualified name, a client configuration and side effects."""
    name = hook.get("name") or ""
    yield from worded(path / "name", name, name_formats.subdomain)
    if name and name.count(".") < 2:
        yield bad(path / "name", name, "should be a domain with at least three segments separated by dots")
    effects = hook.get("sideEffects")
    if not effects:
        yield missing(path / "sideEffects", "must specify one of None, NoneOnDryRun")
    elif effects not in ("None", "NoneOnDryRun"):
        yield not_supported(path / "sideEffects", effects, ("None", "NoneOnDryRun"))
    yield from _called(hook.get("clientConfig") or {}, path / "clientConfig")
    if not hook.get("admissionReviewVersions"):
        yield missing(path / "admissionReviewVersions", "must specify one of v1, v1beta1")
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        yield bad(path / "timeoutSeconds", seconds, "the timeout value must be between 1 and 30 seconds")


def _called(client: JsonMapping, path: Path) -> Problems:
    if (client.get("url") is None) == (client.get("service") is None):
        yield missing(path, "exactly one of url or service is required")
    elif client.get("url") is not None and not str(client["url"]).startswith("https://"):
        yield bad(
            path / "url", client["url"], "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        )


def config_map(obj: JsonMapping, path: Path) -> Problems:
    """Keys, each in data or binaryData, and the size."""
    for key in sorted({*(obj.get("data") or {})} & {*(obj.get("binaryData") or {})}):
        yield bad((path / "data")[key], key, "duplicate of key present in binaryData")
    yield from keyed_data(obj, path)
    size = sum(len(value.encode()) for value in (obj.get("data") or {}).values())
    if size + _encoded_size(obj.get("binaryData")) > _MAX_SECRET:
        # kube-apiserver reports this error without a field.
        yield too_long(Path("[]"), _MAX_SECRET)


def secret(obj: JsonMapping, path: Path) -> Problems:
    """Keys, including those required by the type, and the size."""
    yield from keyed_data(obj, path)
    if _encoded_size(obj.get("data")) > _MAX_SECRET:
        yield too_long(path / "data", _MAX_SECRET)
    for key in _KEYS_OF_TYPE.get(obj.get("type") or "", ()):
        if key not in (obj.get("data") or {}):
            yield missing((path / "data")[key])


def keyed_data(obj: JsonMapping, path: Path) -> Problems:
    """Keys of a ConfigMap or Secret."""
    for name in ("data", "binaryData"):
        for key in obj.get(name) or {}:
            yield from (bad((path / name)[key], key, text) for text in name_formats.config_key(key))


def _encoded_size(data: Mapping[str, str] | None) -> int:
    """Size of base64-decoded values."""
    return sum(len(value) // 4 * 3 - value[-2:].count("=") for value in (data or {}).values())


def amounts(spec: JsonMapping, path: Path) -> Problems:
    """Quota amounts are not negative."""
    for name, amount in (spec.get("hard") or {}).items():
        place = path / "hard"
        if Quantity.parse(amount).nanos < 0:
            yield bad(place[name], amount, name_formats.NOT_NEGATIVE)
        yield from worded(place[name], name, name_formats.qualified_name)


_ORDER = (
    ("min", "min", "max"),
    ("defaultRequest", "min", "defaultRequest"),
    ("defaultRequest", "defaultRequest", "max"),
    ("defaultRequest", "defaultRequest", "default"),
    ("default", "min", "default"),
    ("default", "default", "max"),
)
"""Field of the error, and the bounds that must be in order."""


def limit_range_item(item: JsonMapping, path: Path) -> Problems:
    """Minimum, default and maximum are in order."""
    for place, lower, upper in _ORDER:
        for name, amount in sorted((item.get(lower) or {}).items()):
            limit = (item.get(upper) or {}).get(name)
            if limit is not None and Quantity.parse(amount) > Quantity.parse(limit):
                word = "default limit" if (lower, upper) == ("defaultRequest", "default") else _described(upper)
                why = f"{_described(lower)} value {amount} is greater than {word} value {limit}"
                yield bad((path / place)[name], limit if place == upper else amount, why)


def _described(name: str) -> str:
    return {"defaultRequest": "default request"}.get(name, name)


def lease_spec(spec: JsonMapping, path: Path) -> Problems:
    """Durations and transitions are not negative."""
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield bad(path / "leaseDurationSeconds", seconds, "must be greater than 0")
    if (spec.get("leaseTransitions") or 0) < 0:
        yield bad(path / "leaseTransitions", spec["leaseTransitions"], name_formats.NOT_NEGATIVE)
