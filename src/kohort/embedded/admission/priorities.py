"""Pod priority: resolved from the PriorityClass, never set by clients."""

from kohort.api.codec import JsonObject
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin, is_write_of
from kohort.embedded.storage import StorageKey, Store
from kohort.kube.errors import forbidden

CLASSES = "priorityclasses.scheduling.k8s.io"
_DEFAULT_POLICY = "PreemptLowerPriority"


class PriorityPlugin(NoopPlugin):
    """Resolves the priority of pods; allows one global default class only."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Sets the priority of a new pod."""
        pod = attributes.object
        if pod is None or not is_write_of(attributes, "pods", "CREATE"):
            return None
        spec = dict(pod.get("spec") or {})
        name, value, policy = self._resolved(attributes, str(spec.get("priorityClassName") or ""))
        _check_given(attributes, spec, value, policy)
        if name:
            spec["priorityClassName"] = name
        spec["priority"], spec["preemptionPolicy"] = value, policy
        return {**pod, "spec": spec}

    def _resolved(self, attributes: AdmissionAttributes, name: str) -> tuple[str, int, str]:
        if name:
            found = self._store.get(StorageKey(CLASSES, "", name))
            if found is None:
                raise forbidden(attributes.about, f"no PriorityClass with name {name} was found")
            return name, *_meaning(found.object)
        default = self._default()
        return (default["metadata"]["name"], *_meaning(default)) if default else ("", 0, _DEFAULT_POLICY)

    def _default(self) -> JsonObject | None:
        """The global default class; of several the one with the lowest value."""
        classes = [entry.object for entry in self._store.list(CLASSES).entries]
        return min((each for each in classes if each.get("globalDefault")), key=lambda one: one["value"], default=None)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies a second global default."""
        new = attributes.object
        if new is None or not new.get("globalDefault") or not is_write_of(attributes, CLASSES, "CREATE", "UPDATE"):
            return
        default = self._default()
        if default is not None and default["metadata"]["name"] != attributes.name:
            other = default["metadata"]["name"]
            why = f"PriorityClass {other} is already marked as default. Only one default can exist"
            raise forbidden(attributes.about, why)


def _meaning(found: JsonObject) -> tuple[int, str]:
    return int(found["value"]), str(found.get("preemptionPolicy") or _DEFAULT_POLICY)


def _check_given(attributes: AdmissionAttributes, spec: JsonObject, value: int, policy: str) -> None:
    given = spec.get("priority")
    if given is not None and given != value:
        raise forbidden(
            attributes.about,
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name",
        )
    given_policy = spec.get("preemptionPolicy")
    if given_policy is not None and given_policy != policy:
        raise forbidden(
            attributes.about,
            f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name",
        )
