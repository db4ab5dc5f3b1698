"""DefaultTolerationSeconds: pods tolerate not-ready and unreachable nodes for five minutes by default."""

from kohort.api.codec import Json, JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin, is_write_of

_SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds(NoopPlugin):
    """Adds the two default tolerations."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Adds missing tolerations to a new pod."""
        pod = attributes.object
        if pod is None or not is_write_of(attributes, "pods", "CREATE"):
            return None
        present: list[Json] = list((pod.get("spec") or {}).get("tolerations") or ())
        missing = [_toleration(taint) for taint in _TAINTS if not any(_covers(each, taint) for each in present)]
        if not missing:
            return None
        return {**pod, "spec": {**pod["spec"], "tolerations": [*present, *missing]}}


def _toleration(taint: str) -> JsonObject:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}


def _covers(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key") in (None, "", taint) and toleration.get("effect") in (None, "", "NoExecute")
