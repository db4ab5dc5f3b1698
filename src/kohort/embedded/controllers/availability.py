"""Availability of pods: a pod is available once it has been ready for minReadySeconds."""

from collections.abc import Iterable

from kohort.embedded.controllers.views import ControllerPod


def is_available(pod: ControllerPod, ready_seconds: int, now: float) -> bool:
    """Whether a pod has been ready for long enough; `now` is in seconds of the epoch."""
    if not pod.is_ready:
        return False
    since = pod.ready_since()
    return ready_seconds == 0 or (since is not None and since + ready_seconds <= now)


def next_available(pods: Iterable[ControllerPod], ready_seconds: int, now: float) -> float | None:
    """Seconds until the next pod becomes available; None if no pod is about to."""
    if ready_seconds == 0:
        return None
    since = [pod.ready_since() for pod in pods if not is_available(pod, ready_seconds, now)]
    waits = [moment + ready_seconds - now for moment in since if moment is not None]
    return min(waits) if waits else None
