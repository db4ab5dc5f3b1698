"""From v1beta1 to v1beta2 (docs/spec section 10.2).

Works on plain JSON with v1beta1 defaults and valid types, so that only the differences are handled.
"""

from kohort.api.codec import Json
from kohort.api.config import v1beta2

_SWITCHED = ("waitForPodsReady", "fairSharing")
"""Objects with an `enable` member in v1beta1 that v1beta2 enables by their presence."""
_GONE = ("queueVisibility", *_SWITCHED)


def from_v1beta1(old: Json) -> Json:
    """The same settings in v1beta2; disabled features become absent (API-140)."""
    kept = {name: member for name, member in old.items() if name not in _GONE}
    turned_on = {name: without(old[name], "enable") for name in _SWITCHED if old[name]["enable"]}
    return {
        **kept,
        **turned_on,
        "apiVersion": v1beta2.API_VERSION,
        "integrations": without(old["integrations"], "podOptions"),
    }


def ignored_settings(old: Json) -> list[str]:
    """A warning for each v1beta1 setting without effect."""
    ignored = {
        "queueVisibility": old.get("queueVisibility"),
        "integrations.podOptions": (old.get("integrations") or {}).get("podOptions"),
    }
    return [f"{name} is ignored; remove it" for name, setting in ignored.items() if setting is not None]


def without(value: Json, member: str) -> Json:
    """A copy of an object without one member."""
    return {name: inner for name, inner in value.items() if name != member}
