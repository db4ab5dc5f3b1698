"""`kohort logs`: prints or streams the logs of a job's pods, across evictions and restarts."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace

import click

from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.cli.job_builder import seconds_of
from kohort.cli.job_watcher import watching_job
from kohort.cli.log_streams import INDEX_LABEL, LogChoice, LogError, LogStreams, Prefixes
from kohort.cli.messages import note, write_raw
from kohort.cli.name_completion import complete_pods
from kohort.cli.option_types import COUNT
from kohort.cli.options import ClusterOptions, cluster_options, running, running_client, screen
from kohort.cli.targets import CommandTarget, Finder, TargetObject, references
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.job.spec import pod_count
from kohort.jobs.keys import POD_GROUP_NAME
from kohort.jobs.objects import labels
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope

EXAMPLES = """\b
Examples:
  kohort logs train-x7k2p                  # logs of all pods
  kohort logs -f train-x7k2p --index 0     # stream the logs of one index, also after an eviction
  kohort logs deployment/web --tail 20 --since 10m
  kohort logs pytorchjob/bert              # logs of all pods of a custom job
"""
_BATCH = BatchJobFramework()


@dataclass(frozen=True, slots=True)
class _LogArguments:
    name: str
    is_following: bool
    index: int | None
    choice: LogChoice


@click.command(epilog=EXAMPLES)
@click.argument("name", metavar="JOB|WORKLOAD|POD", shell_complete=complete_pods)
@click.option("-f", "--follow", "is_following", is_flag=True, help="Follow until the job finishes.")
@click.option("--tail", type=COUNT, help="Lines to show per pod (default: all).")
@click.option("--since", default="", metavar="TIME", help="Only logs newer than a duration such as 10m.")
@click.option("--index", type=COUNT, help="Only the pod with this completion index.")
@click.option("-c", "--container", default="", metavar="NAME", help="Container name (default: first).")
@cluster_options
def logs(
    *,
    name: str,
    where: ClusterOptions,
    is_following: bool,
    tail: int | None,
    since: str,
    index: int | None,
    container: str,
) -> None:
    """Print the logs of a job's pods."""
    choice = LogChoice(container, tail, seconds_of(since, "--since") if since else None)
    running(_logs(where, _LogArguments(name, is_following, index, choice)))


async def _logs(where: ClusterOptions, arguments: _LogArguments) -> None:
    access = where.access()
    async with running_client(access) as client:
        target = await Finder(client, access.namespace).find(references([arguments.name])[0])
        _expect_index(target, arguments.index)
        scope = _indexed(pods_of(target), arguments.index)
        prefixes = Prefixes(screen().style, target.job.name, is_shown=_are_many(target) and arguments.index is None)
        streams = LogStreams(client, scope, arguments.choice, prefixes, write_raw, note)
        if arguments.is_following:
            await _follow(client, target, scope, streams)
        elif not await streams.print_once():
            note(_nothing(target))


def pods_of(target: CommandTarget) -> ListScope:
    """The scope of a job's pods, by label or selector; raises LogError."""
    found = target.job
    if found.resource == Job.resource:
        return ListScope(target.namespace, labels=_BATCH.pod_selector(found.obj))
    if found.resource == Pod.resource:
        group = labels(found.obj).get(POD_GROUP_NAME) if len(target.members) > 1 else None
        if group:
            return ListScope(target.namespace, labels=f"{POD_GROUP_NAME}={group}")
        return ListScope(target.namespace, fields=f"metadata.name={found.name}")
    matched = ((found.obj.get("spec") or {}).get("selector") or {}).get("matchLabels")
    selector = ",".join(f"{key}={value}" for key, value in matched.items()) if matched else _selector_of_kind(found)
    if not selector:
        raise LogError(f"{found} has no pod selector: specify a pod, a Job or its Workload")
    return ListScope(target.namespace, labels=selector)


def _selector_of_kind(found: TargetObject) -> str | None:
    """The selector by which the framework of a kind finds the pods of a job."""
    from kohort.jobs.builtin import built_in_frameworks

    framework = next((each for each in built_in_frameworks() if each.resource == found.resource), None)
    return framework.pod_selector(found.obj) if framework is not None else None


def _expect_index(target: CommandTarget, index: int | None) -> None:
    """Reject an index that no pod of the Job can have."""
    spec = target.job.obj.get("spec") or {}
    if index is None or target.job.resource != Job.resource:
        return
    if spec.get("completionMode") != "Indexed":
        raise LogError(f"{target.job} is not an Indexed Job: omit --index")
    if index >= (count := int(spec.get("completions") or 0)):
        raise LogError(f"index {index} of {target.job} not found: available: 0 to {count - 1}")


def _indexed(scope: ListScope, index: int | None) -> ListScope:
    if index is None:
        return scope
    return replace(scope, labels=",".join(filter(None, (scope.labels, f"{INDEX_LABEL}={index}"))))


def _are_many(target: CommandTarget) -> bool:
    found = target.job
    if found.resource == Job.resource:
        return pod_count(found.obj) > 1
    return found.resource != Pod.resource or len(target.members) > 1


async def _follow(client: Client, target: CommandTarget, scope: ListScope, streams: LogStreams) -> None:
    if target.job.resource != Job.resource:
        await streams.follow(_all_ended(client, scope) if target.job.resource == Pod.resource else _never())
        return
    if target.workload is not None and not (await client.of(Pod).page(scope, limit=1)).items:
        note(_nothing(target))
    async with watching_job(client, target.job.obj, lambda _progress: None) as watcher:
        await streams.follow(watcher.wait())


async def _all_ended(client: Client, scope: ListScope) -> None:
    """Return when all pods have finished."""
    informers = SharedInformerFactory(client)
    pods = informers.of(Pod, scope)
    changed = asyncio.Event()
    pods.subscribe(lambda _old, _new: changed.set())
    informers.start()
    try:
        await pods.wait_for_sync()
        while any(pod.status.phase not in ("Succeeded", "Failed") for pod in pods.cache):
            changed.clear()
            await changed.wait()
    finally:
        await informers.stop()


def _never() -> Awaitable[None]:
    return asyncio.get_running_loop().create_future()


def _nothing(target: CommandTarget) -> str:
    if target.job.resource == Job.resource and _BATCH.is_suspended(target.job.obj):
        return f"{target.job} has no pods yet: pending (see `kohort explain {target.job.name}`)"
    return f"{target.job} has no pods"
