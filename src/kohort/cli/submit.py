"""`kohort submit`: creates a Job from the command line, and optionally waits for it."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
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
from kohort.cli.messages import ProgressPrinter, note, write_raw
from kohort.cli.name_completion import complete_priorities, complete_queues
from kohort.cli.option_types import COUNT, EXISTING_FILE, POSITIVE_COUNT
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
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.options import ListScope, WriteOptions
from kohort.terminal.nearest import did_you_mean

if TYPE_CHECKING:
    from kohort.cli.log_streams import LogStreams
    from kohort.kube.client import Client

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
    """Output and waiting after the Job was created."""

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
            raise SubmitError(f"{option}: invalid value {text!r}: use KEY=VALUE")
        found[key] = value
    return found


def _environment(files: Iterable[Path], texts: Iterable[str]) -> dict[str, str]:
    """Variables of files, then of the command line; a bare name takes its value from the environment."""
    lines = [line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assignments = [line for line in lines if line and not line.startswith("#")]
    return dict(_variable(text) for text in (*assignments, *texts))


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise SubmitError(f"--env: invalid value {text!r}: use NAME=VALUE")
    if not equals and name not in os.environ:
        raise SubmitError(f"--env {name}: variable not set: use {name}=VALUE")
    return name, value if equals else os.environ[name]


@click.command(epilog=EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…")
@click.option(
    "-q",
    "--queue",
    default="",
    metavar="NAME",
    shell_complete=complete_queues,
    help="LocalQueue (default: `default`).",
)
@click.option("--gpus", type=COUNT, default=0, help="GPUs per pod (default: 0).")
@click.option("--cpu", default="", metavar="AMOUNT", help="CPU per pod, such as 8 or 500m.")
@click.option("--memory", default="", metavar="AMOUNT", help="Memory per pod, such as 32Gi; request and limit.")
@click.option("--gpu-resource", default=GPU, show_default=True, metavar="NAME", help="Resource name of GPUs.")
@click.option(
    "--parallel", type=POSITIVE_COUNT, default=1, show_default=True, help="Number of pods to run in parallel."
)
@click.option("--completions", type=POSITIVE_COUNT, help="Number of successful pods required (default: --parallel).")
@click.option("--indexed", is_flag=True, help="Use Indexed completion mode (JOB_COMPLETION_INDEX is set).")
@click.option(
    "--retries", type=COUNT, default=0, show_default=True, help="Number of pod failures to tolerate (backoffLimit)."
)
@click.option(
    "--priority",
    default="",
    metavar="CLASS",
    shell_complete=complete_priorities,
    help="WorkloadPriorityClass (default: none).",
)
@click.option(
    "--max-time", default="", metavar="TIME", help="Maximum run time, such as 4h; the job is stopped afterwards."
)
@click.option(
    "--image",
    default="",
    envvar=IMAGE_VARIABLE,
    metavar="IMAGE",
    help=f"Container image (default: ${IMAGE_VARIABLE}).",
)
@click.option("--name", default="", metavar="NAME", help="Name of the Job (default: derived from the command).")
@click.option("--env", "env", multiple=True, metavar="NAME[=VALUE]", help="Environment variable; repeatable.")
@click.option(
    "--env-from-file",
    "env_files",
    multiple=True,
    type=EXISTING_FILE,
    help="File of environment variables, one NAME=VALUE per line; repeatable.",
)
@click.option(
    "--workdir",
    default="",
    metavar="DIR",
    help="Working directory (default: the current directory if pods are local processes).",
)
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label of the Job; repeatable.")
@click.option(
    "--annotation", "annotations", multiple=True, metavar="KEY=VALUE", help="Annotation of the Job; repeatable."
)
@click.option(
    "--node-selector",
    "selectors",
    multiple=True,
    metavar="KEY=VALUE",
    help="Node label required by the pods; repeatable.",
)
@click.option("--wait", "is_waiting", is_flag=True, help="Wait for completion and exit with the job's exit code.")
@click.option("--follow", "-f", "is_following", is_flag=True, help="Wait and stream the pods' logs.")
@click.option(
    "--dry-run",
    type=click.Choice(["none", "client", "server"]),
    default="none",
    help="client: only print the Job; server: validate it without creating it.",
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
    """Submit a command as a Job.

    The LocalQueue and priority class are validated first. With --wait or --follow, state changes are printed to
    standard error; Ctrl-C does not cancel the Job.
    """
    arguments = JobArguments(
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
    if not arguments.amounts.resources():
        note("no resources requested, so no quota is used: set --cpu, --memory or --gpus")
    if dry_run == "client":
        _print(_manifest(build_job(_with_client_defaults(arguments))), afterwards)
        return
    sys.exit(_Submission(where, arguments, afterwards).run())


def _with_client_defaults(arguments: JobArguments) -> JobArguments:
    """The arguments with defaults that need no server."""
    if not arguments.image:
        note(f"no --image: placeholder {NO_IMAGE!r} works only if pods run as processes")
    return replace(arguments, image=arguments.image or NO_IMAGE, namespace=arguments.namespace or "default")


def _manifest(job: JsonObject) -> JsonObject:
    """The Job as a manifest: without `suspend`, which would restart a running Job when applied again."""
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
    """Creates one Job and optionally waits for it."""

    def __init__(self, where: ClusterOptions, arguments: JobArguments, afterwards: SubmitFollowUp) -> None:
        self._where = where
        self._access = access = where.access()
        self._arguments = replace(arguments, namespace=access.namespace)
        self._afterwards = afterwards
        self._created = ""

    def run(self) -> int:
        """Create the Job, wait if requested, and return the exit code."""
        try:
            return running(self._submit())
        except KeyboardInterrupt:
            if self._created:
                option = f" -n {self._where.namespace}" if self._where.namespace else ""
                click.echo(err=True)
                note(f"job {self._created} keeps running (cancel it with `kohort cancel {self._created}{option}`)")
            return INTERRUPTED

    async def _submit(self) -> int:
        async with running_client(self._access) as client:
            job = build_job(await self._completed(client))
            created = await self._create(client, job)
            _print(created, self._afterwards)
            if self._afterwards.dry_run != "none" or not self._afterwards.is_waiting:
                return 0
            self._created = created["metadata"]["name"]
            return await self._wait(client, created)

    async def _completed(self, client: "Client") -> JobArguments:
        """The arguments with the LocalQueue and image; raises if the queue or priority class is not found."""
        finder = Finder(client, self._arguments.namespace)
        queue = await _queue(finder, self._arguments)
        if self._arguments.priority:
            await finder.expect(WorkloadPriorityClass.info.resource, self._arguments.priority)
        arguments = replace(self._arguments, queue=queue)
        return arguments if arguments.image else await self._without_image(client, arguments)

    async def _without_image(self, client: "Client", arguments: JobArguments) -> JobArguments:
        """The arguments for pods that run as processes, which need no image; by default in the current directory."""
        runtimes = await _runtimes(client)
        if not runtimes or not runtimes <= {"process", "simulated"}:
            raise SubmitError(f"no container image specified: set --image or {IMAGE_VARIABLE}")
        is_here = urlsplit(self._access.server).hostname in _LOOPBACK and "process" in runtimes
        return replace(arguments, image=NO_IMAGE, workdir=arguments.workdir or (str(Path.cwd()) if is_here else ""))

    async def _create(self, client: "Client", job: JsonObject) -> JsonObject:
        options = WriteOptions(FIELD_MANAGER, dry_run=self._afterwards.dry_run == "server")
        try:
            return await client.of(Job.resource).create(job, options=options)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            name = job["metadata"].get("name", "")
            raise SubmitError(f"Job {name} already exists: choose another --name") from None

    async def _wait(self, client: "Client", job: JsonObject) -> int:
        from kohort.cli.job_watcher import exit_code, watching_job

        printer = ProgressPrinter(client.clock)
        if not self._afterwards.is_following:
            async with watching_job(client, job, printer.print) as watcher:
                end = await watcher.wait()
            return await exit_code(client, job, end)
        async with watching_job(client, job, lambda each: None if each.is_end else printer.print(each)) as watcher:
            end = await _streams(client, job).follow(watcher.wait())
            printer.print(end)
        return await exit_code(client, job, end)


def _streams(client: "Client", job: JsonObject) -> "LogStreams":
    from kohort.cli.log_streams import LogChoice, LogStreams, Prefixes
    from kohort.jobs.frameworks.job.spec import pod_count

    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    prefixes = Prefixes(screen().style, name, is_shown=pod_count(job) > 1)
    scope = ListScope(namespace, labels=f"batch.kubernetes.io/job-name={name}")
    return LogStreams(client, scope, LogChoice(), prefixes, write_raw, note)


async def _queue(finder: Finder, arguments: JobArguments) -> str:
    """The existing LocalQueue; without a name, the namespace's `default` (JOB-67)."""
    found = await finder.object(LOCAL_QUEUE, arguments.queue or DEFAULT_QUEUE)
    if found is None:
        known = await finder.names(LOCAL_QUEUE)
        if arguments.queue:
            hint = did_you_mean(arguments.queue, known)
            raise SubmitError(f"LocalQueue {arguments.queue!r} not found in namespace {finder.namespace}: {hint}")
        raise SubmitError(
            f"LocalQueue `default` not found in namespace {finder.namespace}: set --queue; {did_you_mean('', known)}"
        )
    name = str(found["metadata"]["name"])
    if (found.get("spec") or {}).get("stopPolicy", "None") != "None":
        note(f"LocalQueue {name} is held: the job stays pending until `kohort resume queue {name}`")
    return name


async def _runtimes(client: "Client") -> set[str]:
    """The container runtimes of the nodes; empty if nodes cannot be listed."""
    try:
        nodes = (await client.of(Node.resource).page(limit=50)).items
    except KubeError:
        return set()
    versions = [((each.get("status") or {}).get("nodeInfo") or {}).get("containerRuntimeVersion", "") for each in nodes]
    return {str(version).partition("://")[0] for version in versions}
