"""How all clusters of this machine fare: what their records say, and what those that run answer themselves."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kohort.api.codec import Json
from kohort.api.times import format_time
from kohort.local.directories import ClusterDirectory
from kohort.local.runs import ClusterState, ClusterStatus, cluster_status

if TYPE_CHECKING:
    from kohort.kube.client import Client

_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class ClusterStats:
    """What a cluster has at present."""

    nodes: int = 0
    running: int | None = None
    """Workloads that were admitted and have not finished; None without queues."""
    pending: int | None = None


@dataclass(frozen=True, slots=True)
class ListedCluster:
    """A cluster as it was found."""

    place: ClusterDirectory
    standing: ClusterStatus
    figures: ClusterStats | None = None
    """None where it does not run, or did not answer."""
    problem: str = ""

    def document(self) -> Json:
        """The same for machines."""
        run, figures = self.standing.run, self.figures
        known: dict[str, Any] = {
            "name": self.place.name,
            "state": self.standing.state.value,
            "context": self.place.context,
            "folder": str(self.place.folder),
            "log": str(self.place.log),
        }
        if run is not None:
            known["since"] = format_time(run.since)
            known["version"] = run.version
        if run is not None and self.standing.is_alive:
            known |= {"pid": run.pid, "address": run.url, "kubeconfig": run.kubeconfig, "runtime": run.runtime}
        if run is not None and run.ended is not None and not self.standing.is_alive:
            known["stopped"] = format_time(run.ended.at)
        if figures is not None:
            known["nodes"] = figures.nodes
            known["workloads"] = {"running": figures.running, "pending": figures.pending}
        return known | ({"problem": self.problem} if self.problem else {})


async def list_clusters(places: list[ClusterDirectory]) -> list[ListedCluster]:
    """Look at all of them at once."""
    return list(await asyncio.gather(*(_look(place) for place in places)))


async def _look(place: ClusterDirectory) -> ListedCluster:
    found = cluster_status(place)
    if found.state is not ClusterState.RUNNING or found.run is None:
        return ListedCluster(place, found)
    from kohort.kube.errors import KubeError

    try:
        async with asyncio.timeout(_SECONDS):
            return ListedCluster(place, found, await _figures(Path(found.run.kubeconfig), has_queues=found.run.queues))
    except TimeoutError:
        return ListedCluster(place, found, problem=f"it does not answer within {_SECONDS:.0f} s")
    except KubeError as error:
        return ListedCluster(place, found, problem=" ".join(str(error).split()))


async def _figures(kubeconfig: Path, *, has_queues: bool) -> ClusterStats:
    from kohort.kube.client import Client
    from kohort.kube.config import ConfigOverrides, load_client_config
    from kohort.kube.http import HttpTransport

    client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig))))
    try:
        nodes = await client.get_json("/api/v1/nodes?limit=1")
        count = len(nodes["items"]) + int(nodes["metadata"].get("remainingItemCount") or 0)
        return await _with_queues(client, count) if has_queues else ClusterStats(count)
    finally:
        await client.close()


async def _with_queues(client: "Client", nodes: int) -> ClusterStats:
    """Queues know how many workloads they have; nobody needs to list those."""
    from kohort.api.kueue.v1beta2 import ClusterQueue

    statuses = [each.status for each in (await client.of(ClusterQueue).list()).items]
    running = sum(each.admitted_workloads or 0 for each in statuses)
    return ClusterStats(nodes, running, sum(each.pending_workloads or 0 for each in statuses))
