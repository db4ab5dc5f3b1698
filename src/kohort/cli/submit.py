"""`kohort submit`: a Job from the command line, checked before it is made; and, if asked, its way to the end."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import click

from kohort.api.codec import JsonObject
from kohort.api.core.batch import Job
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import WorkloadPriorityClass
from kohort.cli.job_builder import (
    GPU,
    NO_IMAGE,
    JobArguments,
    JobShape,
    PodResources,
    SubmitError,
    build_job,
    seconds_of,
)
from kohort.cli.job_watcher import exit_code, watching_job
from kohort.cli.log_streams import LogChoice, LogStreams, Prefixes
from kohort.cli.messages import ProgressPrinter, note, write_raw
from kohort.cli.name_completion import complete_priorities, complete_queues
from kohort.cli.options import (
    ClusterOptions,
    OutputFormat,
    cluster_options,
    data_text,
    output_option,
    running,
    running_client,
    screen,
)
from kohort.cli.targets import LOCAL_QUEUE, Finder, shown
from kohort.jobs.frameworks.job import pod_count
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.options import ListScope, WriteOptions
from kohort.terminal.nearest import did_you_mean

EXAMPLES = """\b
Examples:
  kohort submit --queue team-a --gpus 2 --cpu 8 --memory 32Gi -- python train.py
  kohort submit -q team-a --cpu 1 --follow -- bash -c 'echo hello; sleep 5'
  kohort submit -q team-a --gpus 8 --parallel 16 --indexed --priority high \\
      --image registry.example/train:1 --max-time 4h -- torchrun train.py
  kohort submit -q team-a --cpu 4 --dry-run=client -o yaml -- python train.py > job.yaml
"""
INTERRUPTED = 130
DEFAULT_QUEUE = "default"
IMAGE_VARIABLE = "KOHORT_IMAGE"
FIELD_MANAGER = "kohort-submit"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class SubmitFollowUp:
    """What is done with the Job once it is made."""

    dry_run: str
    output: OutputFormat | None
    is_waiting: bool
    is_following: bool


def _pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` texts as a mapping."""
    found = dict[str, str]()
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise SubmitError(f"{option} {text!r}: write KEY=VALUE")
        found[key] = value
    return found


def _environment(files: Iterable[Path], texts: Iterable[str]) -> dict[str, str]:
    """Variables of files, then of the command line; a name alone takes its value from here."""
    lines = [line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    told = [line for line in lines if line and not line.startswith("#")]
    return dict(_variable(text) for text in (*told, *texts))


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise SubmitError(f"--env {text!r}: write NAME=VALUE")
    if not equals and name not in os.environ:
        raise SubmitError(f"--env {name}: there is no such variable here: write {name}=VALUE")
    return name, value if equals else os.environ[name]


@click.command(epilog=EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…")
@click.option(
    "-q",
    "--queue",
    default="",
    metavar="NAME",
    shell_complete=complete_queues,
    help="LocalQueue; `default` if not given.",
)
@click.option("--gpus", type=click.IntRange(0), default=0, metavar="N", help="GPUs of each pod.")
@click.option("--cpu", default="", metavar="AMOUNT", help="CPUs of each pod, such as 8 or 500m.")
@click.option("--memory", default="", metavar="AMOUNT", help="Memory of each pod, such as 32Gi; it gets no more.")
@click.option("--gpu-resource", default=GPU, show_default=True, metavar="NAME", help="What GPUs are called.")
@click.option(
    "--parallel", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Pods side by side."
)
@click.option(
    "--completions", type=click.IntRange(1), metavar="N", help="Pods that must succeed; --parallel by default."
)
@click.option("--indexed", is_flag=True, help="Number the pods: JOB_COMPLETION_INDEX tells each its own.")
@click.option(
    "--retries", type=click.IntRange(0), default=0, show_default=True, metavar="N", help="Failures to forgive."
)
@click.option(
    "--priority", default="", metavar="CLASS", shell_complete=complete_priorities, help="WorkloadPriorityClass."
)
@click.option("--max-time", default="", metavar="TIME", help="Longest run in all, such as 4h; then it is stopped.")
@click.option("--image", default="", envvar=IMAGE_VARIABLE, metavar="IMAGE", help=f"Image; also ${IMAGE_VARIABLE}.")
@click.option("--name", default="", metavar="NAME", help="Name of the Job; made from the command by default.")
@click.option("--env", "env", multiple=True, metavar="NAME[=VALUE]", help="Variable; repeatable.")
@click.option(
    "--env-from-file",
    "env_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Variables, one NAME=VALUE per line; repeatable.",
)
@click.option(
    "--workdir", default="", metavar="DIR", help="Where it runs; this directory, where pods are processes here."
)
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label of the Job; repeatable.")
@click.option("--annotation", "annotations", multiple=True, metavar="KEY=VALUE", help="Annotation; repeatable.")
@click.option(
    "--node-selector", "selectors", multiple=True, metavar="KEY=VALUE", help="Label of its nodes; repeatable."
)
@click.option("--wait", "is_waiting", is_flag=True, help="Wait for its end; leave with its exit code.")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Wait, and print what its pods write.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="Make nothing: client asks no server, server has it checked.",
)
@output_option(OutputFormat.YAML, OutputFormat.JSON, OutputFormat.NAME)
@cluster_options
def submit(
    *,
    command: tuple[str, ...],
    where: ClusterOptions,
    queue: str,
    gpus: int,
    cpu: str,
    memory: str,
    gpu_resource: str,
    parallel: int,
    completions: int | None,
    indexed: bool,
    retries: int,
    priority: str,
    max_time: str,
    image: str,
    name: str,
    env: tuple[str, ...],
    env_files: tuple[Path, ...],
    workdir: str,
    labels: tuple[str, ...],
    annotations: tuple[str, ...],
    selectors: tuple[str, ...],
    is_waiting: bool,
    is_following: bool,
    dry_run: str,
    output: OutputFormat | None,
) -> None:
    """Queue a command as a Job.

    The LocalQueue and the priority class are looked up first, so that a typing mistake is told now and not found out
    later. With --wait and --follow, changes of its state go to standard error; Ctrl-C leaves the Job as it is.
    """
    wish = JobArguments(
        command,
        namespace=where.namespace,
        queue=queue,
        name=name,
        priority=priority,
        image=image,
        workdir=workdir,
        max_seconds=seconds_of(max_time, "--max-time") if max_time else None,
        amounts=PodResources(cpu, memory, gpus, gpu_resource),
        shape=JobShape(parallel, completions, indexed, retries),
        env=_environment(env_files, env),
        labels=_pairs("--label", labels),
        annotations=_pairs("--annotation", annotations),
        node_selector=_pairs("--node-selector", selectors),
    )
    afterwards = SubmitFollowUp(dry_run, output, is_waiting or is_following, is_following)
    if not wish.amounts.resources():
        note("it asks for nothing, so that no quota counts: give --cpu, --memory or --gpus")
    if dry_run == "client":
        _print(_manifest(build_job(_as_far_as_known(wish))), afterwards)
        return
    sys.exit(_Submission(where, wish, afterwards).run())


def _as_far_as_known(wish: JobArguments) -> JobArguments:
    """What can be said without a server."""
    if not wish.image:
        note(f"no --image: {NO_IMAGE!r} does only where pods run as processes")
    return replace(wish, image=wish.image or NO_IMAGE, namespace=wish.namespace or "default")


def _manifest(job: JsonObject) -> JsonObject:
    """The Job for a file: without `suspend`, which would restart the running Job whenever the file is applied again."""
    return {**job, "spec": {key: value for key, value in job["spec"].items() if key != "suspend"}}


def _print(job: JsonObject, afterwards: SubmitFollowUp) -> None:
    named = shown(Job.resource, job["metadata"].get("name") or f"{job['metadata']['generateName']}…")
    if afterwards.output in (OutputFormat.JSON, OutputFormat.YAML):
        metadata = {key: value for key, value in job["metadata"].items() if key != "managedFields"}
        click.echo(data_text({**job, "metadata": metadata}, afterwards.output))
    elif afterwards.output is OutputFormat.NAME:
        click.echo(named)
    else:
        suffix = "" if afterwards.dry_run == "none" else f" ({afterwards.dry_run} dry run)"
        click.echo(f"{named} created{suffix}", err=afterwards.is_following)


class _Submission:
    """One Job on its way."""

    def __init__(self, where: ClusterOptions, wish: JobArguments, afterwards: SubmitFollowUp) -> None:
        self._where = where
        self._access = access = where.access()
        self._wish = replace(wish, namespace=access.namespace)
        self._afterwards = afterwards
        self._made = ""

    def run(self) -> int:
        """Make it, and wait if asked to; the exit code."""
        try:
            return running(self._submit())
        except KeyboardInterrupt:
            if self._made:
                place = f" -n {self._where.namespace}" if self._where.namespace else ""
                click.echo(err=True)
                note(f"job {self._made} goes on; `kohort cancel {self._made}{place}` ends it")
            return INTERRUPTED

    async def _submit(self) -> int:
        async with running_client(self._access) as client:
            job = build_job(await self._completed(client))
            made = await self._create(client, job)
            _print(made, self._afterwards)
            if self._afterwards.dry_run != "none" or not self._afterwards.is_waiting:
                return 0
            self._made = made["metadata"]["name"]
            return await self._attend(client, made)

    async def _completed(self, client: Client) -> JobArguments:
        """The wish with what the cluster tells: that its queue and priority are there, and what pods run in."""
        finder = Finder(client, self._wish.namespace)
        queue = await _queue(finder, self._wish)
        if self._wish.priority:
            await finder.expect(WorkloadPriorityClass.info.resource, self._wish.priority)
        wish = replace(self._wish, queue=queue)
        return wish if wish.image else await self._without_image(client, wish)

    async def _without_image(self, client: Client, wish: JobArguments) -> JobArguments:
        """Where pods are processes of this machine they need no image, and run where the user stands."""
        runtimes = await _runtimes(client)
        if not runtimes or not runtimes <= {"process", "simulated"}:
            raise SubmitError(f"give --image, or set {IMAGE_VARIABLE}: the image that the command runs in")
        is_here = urlsplit(self._access.server).hostname in _LOOPBACK and "process" in runtimes
        return replace(wish, image=NO_IMAGE, workdir=wish.workdir or (str(Path.cwd()) if is_here else ""))

    async def _create(self, client: Client, job: JsonObject) -> JsonObject:
        options = WriteOptions(FIELD_MANAGER, dry_run=self._afterwards.dry_run == "server")
        try:
            return await client.of(Job.resource).create(job, options=options)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            name = job["metadata"].get("name", "")
            raise SubmitError(f"Job {name} is there already: choose another --name, or leave it out") from None

    async def _attend(self, client: Client, job: JsonObject) -> int:
        diary = ProgressPrinter(client.clock)
        if not self._afterwards.is_following:
            async with watching_job(client, job, diary.tell) as waiter:
                end = await waiter.wait()
            return await exit_code(client, job, end)
        async with watching_job(client, job, lambda stage: None if stage.is_end else diary.tell(stage)) as waiter:
            end = await _streams(client, job).follow(waiter.wait())
            diary.tell(end)
        return await exit_code(client, job, end)


def _streams(client: Client, job: JsonObject) -> LogStreams:
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    prefixes = Prefixes(screen().style, name, is_shown=pod_count(job) > 1)
    scope = ListScope(namespace, labels=f"batch.kubernetes.io/job-name={name}")
    return LogStreams(client, scope, LogChoice(), prefixes, write_raw, note)


async def _queue(finder: Finder, wish: JobArguments) -> str:
    """The LocalQueue, which must be there; without a name, the namespace's `default` (JOB-67)."""
    found = await finder.object(LOCAL_QUEUE, wish.queue or DEFAULT_QUEUE)
    if found is None:
        known = await finder.names(LOCAL_QUEUE)
        if wish.queue:
            place = f"in namespace {finder.namespace}"
            raise SubmitError(f"no LocalQueue {wish.queue!r} {place}: {did_you_mean(wish.queue, known)}")
        raise SubmitError(
            f"give --queue: namespace {finder.namespace} has no LocalQueue `default`; {did_you_mean('', known)}"
        )
    name = str(found["metadata"]["name"])
    if (found.get("spec") or {}).get("stopPolicy", "None") != "None":
        note(f"LocalQueue {name} is on hold: the job waits until `kohort resume queue {name}`")
    return name


async def _runtimes(client: Client) -> set[str]:
    """What runs pods on the nodes; nothing where we may not look."""
    try:
        nodes = (await client.of(Node.resource).page(limit=50)).items
    except KubeError:
        return set()
    told = [((each.get("status") or {}).get("nodeInfo") or {}).get("containerRuntimeVersion", "") for each in nodes]
    return {str(version).partition("://")[0] for version in told}
