"""Assigns devices to pods by index, exclusively."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kohort.api.quantity import NANO, Quantity
from kohort.embedded.runtimes.pods import RunContainer, RunPod

VISIBLE = {"nvidia.com/gpu": "CUDA_VISIBLE_DEVICES"}
"""The variable that lists the visible devices, by resource."""

Share = dict[str, dict[str, tuple[int, ...]]]
"""Device indexes by container and resource."""


class NoDevicesError(Exception):
    """More devices were requested than are available; the text is the kubelet's."""


@dataclass(slots=True)
class Devices:
    """The devices of this machine."""

    counts: Mapping[str, int]
    _held: dict[str, dict[str, set[int]]] = field(default_factory=dict)

    def assign(self, pod: RunPod) -> Share:
        """Devices for each container; init containers use those of the main containers."""
        free = {resource: self._free(resource) for resource in self.counts}
        lasting = [
            *pod.spec.containers,
            *(each for each in pod.spec.init_containers if each.restart_policy == "Always"),
        ]
        share: Share = {each.name: {} for each in (*pod.spec.init_containers, *pod.spec.containers)}
        for resource, indices in free.items():
            taken = 0
            for container in lasting:
                number = requested(container, resource)
                share[container.name][resource] = _slice(resource, indices, taken, number)
                taken += number
            for container in pod.spec.init_containers:
                if container.restart_policy != "Always":
                    share[container.name][resource] = _slice(resource, indices, 0, requested(container, resource))
        self.hold(pod.metadata.uid, share)
        return share

    def take(self, pod: RunPod, share: Share | None) -> Share:
        """The devices that a pod already has, or new ones."""
        if share is None:
            return self.assign(pod)
        self.hold(pod.metadata.uid, share)
        return share

    def hold(self, pod: str, share: Share) -> None:
        """Records the devices of a pod."""
        held: dict[str, set[int]] = {}
        for resources in share.values():
            for resource, indices in resources.items():
                held.setdefault(resource, set()).update(indices)
        self._held[pod] = held

    def release(self, pod: str) -> None:
        """Releases the devices of a pod."""
        self._held.pop(pod, None)

    def _free(self, resource: str) -> list[int]:
        held = {index for pod in self._held.values() for index in pod.get(resource, ())}
        return [index for index in range(self.counts[resource]) if index not in held]


def requested(container: RunContainer, resource: str) -> int:
    """Number of devices requested by a container."""
    amounts = container.resources
    given = amounts.limits.get(resource, amounts.requests.get(resource, 0))
    return Quantity.parse(given).in_units(NANO)


def visible(resources: Mapping[str, Iterable[int]]) -> dict[str, str]:
    """The variables that restrict a container to its devices."""
    return {variable: ",".join(map(str, resources.get(resource, ()))) for resource, variable in VISIBLE.items()}


def _slice(resource: str, free: list[int], start: int, number: int) -> tuple[int, ...]:
    available = len(free) - start
    if number > available:
        raise NoDevicesError(
            f"Allocate failed due to requested number of devices unavailable for {resource}. "
            f"Requested: {number}, Available: {max(0, available)}, which is unexpected"
        )
    return tuple(free[start : start + number])
