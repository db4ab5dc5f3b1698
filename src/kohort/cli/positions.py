"""Positions in a LocalQueue, from the visibility API (API-99)."""

from kohort.api.errors import ApiError
from kohort.kube.client import Client
from kohort.kube.errors import KubeError

GROUP = "visibility.kueue.x-k8s.io"


async def positions(client: Client, namespace: str, queue: str) -> dict[str, int]:
    """Positions of pending Workloads by name, counted from 0; empty if the API is not served."""
    path = f"/apis/{GROUP}/v1beta2/namespaces/{namespace}/localqueues/{queue}/pendingworkloads"
    try:
        summary = await client.get_json(path)
    except (KubeError, ApiError):
        return {}
    return {each["metadata"]["name"]: int(each.get("positionInLocalQueue", 0)) for each in summary.get("items") or ()}
