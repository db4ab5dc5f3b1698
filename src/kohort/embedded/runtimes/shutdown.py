"""Marks pods that are terminated because their node shuts down, as the kubelet does: Jobs may ignore such failures."""

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
TIMEOUT = 5.0
"""Timeout of the writes in seconds: the pods are stopped whether or not the API server responds."""
log = logging.getLogger(__name__)


async def mark_terminated(client: Client, pods: Iterable[RunPod]) -> None:
    """Sets the DisruptionTarget condition before pods are stopped; those that the next agent restarts need none."""
    marked = [pod for pod in pods if pod.spec.restart_policy == "Never"]
    try:
        await within(client.clock, TIMEOUT, _mark_all(client, marked))
    except TimeoutError:
        log.warning("writing pod conditions failed: API server does not respond")


async def _mark_all(client: Client, pods: Iterable[RunPod]) -> None:
    await asyncio.gather(*(_mark(client, pod) for pod in pods))


async def _mark(client: Client, pod: RunPod) -> None:
    """A failed write does not prevent the termination."""
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
        log.warning("writing condition of pod %s/%s failed: %s", *key, error)
