"""Marks the pods that end because their node shuts down, as the kubelet does: their Jobs may ignore such an end."""

import asyncio
import logging
from collections.abc import Iterable

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.api.times import format_time
from kohort.embedded.runtimes.pods import RunPod
from kohort.kube.client import Client
from kohort.kube.clock import within
from kohort.kube.errors import KubeError
from kohort.kube.patches import StrategicPatch

REASON = "TerminationByKubelet"
MESSAGE = "Pod was terminated in response to imminent node shutdown."
LONGEST = 5.0
"""Seconds that the writes may take: the pods end whether the API server answers or not."""
log = logging.getLogger(__name__)


async def mark_terminated(client: Client, pods: Iterable[RunPod]) -> None:
    """Give pods the condition DisruptionTarget before they are ended; those that the next agent restarts need none."""
    marked = [pod for pod in pods if pod.spec.restart_policy == "Never"]
    try:
        await within(client.clock, LONGEST, _mark_all(client, marked))
    except TimeoutError:
        log.warning("conditions of pods can't be written: the API server does not answer")


async def _mark_all(client: Client, pods: Iterable[RunPod]) -> None:
    await asyncio.gather(*(_mark(client, pod) for pod in pods))


async def _mark(client: Client, pod: RunPod) -> None:
    """A pod whose condition can't be written is ended all the same."""
    condition: dict[str, Json] = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": REASON,
        "message": MESSAGE,
        "lastTransitionTime": format_time(client.clock.wall()),
        "observedGeneration": pod.metadata.generation,
    }
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}})
    key = (pod.metadata.namespace, pod.metadata.name)
    try:
        await client.of(Pod.resource).patch(key, patch, subresource="status")
    except KubeError as error:
        log.warning("the condition of pod %s/%s can't be written: %s", *key, error)
