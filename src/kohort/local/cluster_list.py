"""Lists the local clusters: their records, and statistics from those that run."""

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
    """Node and workload counts of a running cluster."""

    nodes: int = 0
    running: int | None = None
    """Workloads that are admitted and not finished; None without a manager."""
    pending: int | None = None


@dataclass(frozen=True, slots=True)
class ListedCluster:
    """A local cluster with its status."""

    directory: ClusterDirectory
    status: ClusterStatus
    stats: ClusterStats | None = None
    """None if it does not run or did not respond."""
    problem: str = ""

    def document(self) -> Json:
        """The data of `kohort status -o json`."""
        run, stats = self.status.run, self.stats
        known: dict[str, Any] = {
            "name": self.directory.name,
            "state": self.status.state.value,
            "context": self.directory.context,
            "folder": str(self.directory.folder),
            "log": str(self.directory.log),
        }
        if run is not None:
            known["since"] = format_time(run.since)
            known["version"] = run.version
        if run is not None and self.status.is_alive:
            known |= {"pid": run.pid, "address": run.url, "kubeconfig": run.kubeconfig, "runtime": run.runtime}
            known["standIns"] = list(run.operators)
        if run is not None and run.ended is not None and not self.status.is_alive:
            known["stopped"] = format_time(run.ended.at)
        if stats is not None:
            known["nodes"] = stats.nodes
            known["workloads"] = {"running": stats.running, "pending": stats.pending}
        return known | ({"problem": self.problem} if self.problem else {})


async def list_clusters(directories: list[ClusterDirectory]) -> list[ListedCluster]:
    """Inspect all clusters concurrently."""
    return list(await asyncio.gather(*(_inspect(directory) for directory in directories)))


async def _inspect(directory: ClusterDirectory) -> ListedCluster:
    found = cluster_status(directory)
    if found.state is not ClusterState.RUNNING or found.run is None:
        return ListedCluster(directory, found)
    from kohort.kube.errors import KubeError

    try:
        async with asyncio.timeout(_SECONDS):
            return ListedCluster(
                directory, found, await _stats(Path(found.run.kubeconfig), has_queues=found.run.queues)
            )
    except TimeoutError:
        return ListedCluster(directory, found, problem=f"no response within {_SECONDS:.0f} s")
    except KubeError as error:
        return ListedCluster(directory, found, problem=" ".join(str(error).split()))


async def _stats(kubeconfig: Path, *, has_queues: bool) -> ClusterStats:
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
    """Counts from the status of ClusterQueues, which is cheaper than listing Workloads."""
    from kohort.api.kueue.v1beta2 import ClusterQueue

    statuses = [each.status for each in (await client.of(ClusterQueue).list()).items]
    running = sum(each.admitted_workloads or 0 for each in statuses)
    return ClusterStats(nodes, running, sum(each.pending_workloads or 0 for each in statuses))
