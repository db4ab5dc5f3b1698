"""The request of one pod (SCH-110 to SCH-112), exact."""

from kohort.api.core.containers import QuotaContainer
from kohort.api.core.pods import QuotaPodSpec
from kohort.engine.requests.lists import Nanos, add_to, amounts_from, combined, nanos_of

_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"


def pod_request(spec: QuotaPodSpec) -> Nanos:
    """Requests of a pod: the peak of its containers, or the pod-level value, plus overhead (SCH-110..112)."""
    request: Nanos = {}
    for container in spec.containers:
        add_to(request, nanos_of(container.resources.requests))
    if spec.init_containers:
        request = _with_init_containers(request, spec.init_containers)
    if spec.resources is not None:
        pod_level = nanos_of(spec.resources.requests)
        request |= {name: value for name, value in pod_level.items() if _is_pod_level(name)}
    add_to(request, nanos_of(spec.overhead))
    return request


def pod_amounts(spec: QuotaPodSpec) -> dict[str, int]:
    """The request of a pod in internal units, as nodes see it: before any rule about quota (TAS-27, TAS-29)."""
    return amounts_from(pod_request(spec))


def _with_init_containers(running: Nanos, containers: tuple[QuotaContainer, ...]) -> Nanos:
    """Sidecars run beside all that starts after them; other init containers one at a time, before the regular ones."""
    sidecars: Nanos = {}
    peak: Nanos = {}
    for container in containers:
        asked = nanos_of(container.resources.requests)
        if container.is_sidecar:
            add_to(sidecars, asked)
            peak = combined(peak, sidecars, max)
        else:
            add_to(asked, sidecars)
            peak = combined(peak, asked, max)
    add_to(running, sidecars)
    return combined(running, peak, max)


def _is_pod_level(resource: str) -> bool:
    """Whether pod-level requests of the resource are supported (SCH-111)."""
    return resource in _POD_LEVEL or resource.startswith(_HUGE_PAGES)
