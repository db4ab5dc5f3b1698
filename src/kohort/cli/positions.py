"""Who waits where in a LocalQueue, from the visibility API (API-99); clusters that do not serve it tell nothing."""

from kohort.api.errors import ApiError
from kohort.kube.client import Client
from kohort.kube.errors import KubeError

GROUP = "visibility.kueue.x-k8s.io"


async def positions(client: Client, namespace: str, queue: str) -> dict[str, int]:
    """The places of the Workloads that wait in a LocalQueue, by name, counted from 0."""
    path = f"/apis/{GROUP}/v1beta2/namespaces/{namespace}/localqueues/{queue}/pendingworkloads"
    try:
        summary = await client.get_json(path)
    except (KubeError, ApiError):
        return {}
    return {each["metadata"]["name"]: int(each.get("positionInLocalQueue", 0)) for each in summary.get("items") or ()}
