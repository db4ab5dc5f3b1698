"""Shell completion with names of the cluster's objects.

Completion must be fast and silent: errors and timeouts complete to nothing.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem

from kohort.cli.options import ClusterOptions, running_client

if TYPE_CHECKING:
    from kohort.api.resource import Resource

SECONDS: Final = 1.0
MAX_NAMES: Final = 200
"""Page limit of list requests."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _resources(names: Iterable[str]) -> "list[Resource]":
    from kohort.api.core.batch import Job
    from kohort.api.core.namespaces import Namespace
    from kohort.api.core.pods import Pod
    from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Workload, WorkloadPriorityClass

    known = {
        "jobs": Job.resource,
        "pods": Pod.resource,
        "namespaces": Namespace.resource,
        "queues": LocalQueue.info.resource,
        "cluster-queues": ClusterQueue.info.resource,
        "flavors": ResourceFlavor.info.resource,
        "workloads": Workload.info.resource,
        "priorities": WorkloadPriorityClass.info.resource,
    }
    return [known[name] for name in names]


def names_of(*kinds: str) -> Complete:
    """A completion with the names of some kinds, in the namespace of the incomplete command line."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given = context.params
        where = ClusterOptions(given.get("kubeconfig"), given.get("context") or "", given.get("namespace") or "")
        try:
            found = asyncio.run(_in_time(where, kinds))
        except Exception:  # completion must not print errors
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return complete


async def _in_time(where: ClusterOptions, kinds: tuple[str, ...]) -> list[str]:
    async with asyncio.timeout(SECONDS):
        return await _names(where, kinds)


async def _names(where: ClusterOptions, kinds: tuple[str, ...]) -> list[str]:
    from kohort.kube.options import ListScope

    access = where.access()
    found = list[str]()
    async with running_client(access) as client:
        for resource in _resources(kinds):
            scope = ListScope(access.namespace if resource.namespaced else "")
            page = await client.of(resource).page(scope, limit=MAX_NAMES)
            found.extend(str(each["metadata"]["name"]) for each in page.items)
    return found


complete_queues = names_of("queues")
complete_priorities = names_of("priorities")
complete_workloads = names_of("jobs", "workloads")
complete_pods = names_of("jobs", "workloads", "pods")
