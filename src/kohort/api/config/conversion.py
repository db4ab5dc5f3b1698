"""From v1beta1 to v1beta2 (docs/spec section 10.2).

Works on plain JSON that has its v1beta1 defaults and types already, so only what differs has to be named.
"""

from kohort.api.codec import Json
from kohort.api.config import v1beta2

_SWITCHED = ("waitForPodsReady", "fairSharing")
"""Objects that an `enable` inside turned on, and that now their presence turns on."""
_GONE = ("queueVisibility", *_SWITCHED)


def from_v1beta1(old: Json) -> Json:
    """The same settings in v1beta2 form; what is switched off becomes absent (API-140)."""
    kept = {name: member for name, member in old.items() if name not in _GONE}
    turned_on = {name: without(old[name], "enable") for name in _SWITCHED if old[name]["enable"]}
    return {
        **kept,
        **turned_on,
        "apiVersion": v1beta2.API_VERSION,
        "integrations": without(old["integrations"], "podOptions"),
    }


def ignored_settings(old: Json) -> list[str]:
    """A warning for each part of a v1beta1 file that no longer means anything."""
    ignored = {
        "queueVisibility": old.get("queueVisibility"),
        "integrations.podOptions": (old.get("integrations") or {}).get("podOptions"),
    }
    return [f"{name} is ignored; drop it" for name, setting in ignored.items() if setting is not None]


def without(value: Json, member: str) -> Json:
    """A copy of an object that lacks one member."""
    return {name: inner for name, inner in value.items() if name != member}
