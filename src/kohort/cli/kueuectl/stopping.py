"""`stop` and `resume`: queues by `spec.stopPolicy`, Workloads by `spec.active`."""

import click

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.resource import Resource
from kohort.cli.hold_resume import QueueStopPolicy
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.groups import example, verb
from kohort.cli.kueuectl.printing import DryRun, Printer, dry_run_option, print_options
from kohort.cli.name_completion import names_of
from kohort.cli.option_types import switch_option
from kohort.cli.options import running
from kohort.cli.targets import Finder
from kohort.kube.options import WriteOptions
from kohort.kube.patches import MergePatch

CLUSTER_QUEUES = ClusterQueue.info.resource
LOCAL_QUEUES = LocalQueue.info.resource
WORKLOADS = Workload.info.resource


stop = verb("stop", "Stop queues and workloads")
resume = verb("resume", "Resume queues and workloads")

_keep = switch_option(
    "--keep-already-running",
    "policy",
    on=QueueStopPolicy.HOLD,
    off=QueueStopPolicy.DRAIN,
    text="Do not evict admitted workloads.",
)


def _queue_commands(resource: Resource, named: str) -> None:
    """Add `stop` and `resume` for a kind of queue; `named` selects the completion of its names."""
    kind = resource.kind

    @stop.command(
        kind.lower(),
        help=f"Stop a {kind}: no new admissions, and admitted workloads are evicted",
        epilog=example(f"stop {kind.lower()} team-a --keep-already-running"),
    )
    @click.argument("name", shell_complete=names_of(named))
    @_keep
    @print_options
    @dry_run_option
    @connection_options
    def stop_queue(
        *, name: str, policy: QueueStopPolicy, printer: Printer, dry_run: DryRun, connection: ConnectionFlags
    ) -> None:
        running(_change(resource, name, _policy(policy), "", printer, dry_run, connection))

    @resume.command(kind.lower(), help=f"Resume a {kind}", epilog=example(f"resume {kind.lower()} team-a"))
    @click.argument("name", shell_complete=names_of(named))
    @print_options
    @dry_run_option
    @connection_options
    def resume_queue(*, name: str, printer: Printer, dry_run: DryRun, connection: ConnectionFlags) -> None:
        running(_change(resource, name, _policy(QueueStopPolicy.RUN), "", printer, dry_run, connection))


_queue_commands(CLUSTER_QUEUES, "cluster-queues")
_queue_commands(LOCAL_QUEUES, "queues")


@stop.command("workload", epilog=example("stop workload job-train-1f2e3"))
@click.argument("name", shell_complete=names_of("workloads"))
@print_options
@dry_run_option
@connection_options
def stop_workload(*, name: str, printer: Printer, dry_run: DryRun, connection: ConnectionFlags) -> None:
    """Stop a Workload: it is evicted and stays inactive until resumed."""
    running(_change(WORKLOADS, name, {"active": False}, "stopped", printer, dry_run, connection))


@resume.command("workload", epilog=example("resume workload job-train-1f2e3"))
@click.argument("name", shell_complete=names_of("workloads"))
@print_options
@dry_run_option
@connection_options
def resume_workload(*, name: str, printer: Printer, dry_run: DryRun, connection: ConnectionFlags) -> None:
    """Resume a Workload."""
    running(_change(WORKLOADS, name, {"active": True}, "resumed", printer, dry_run, connection))


def _policy(policy: QueueStopPolicy) -> JsonObject:
    return {"stopPolicy": policy.value}


async def _change(
    resource: Resource,
    name: str,
    spec: JsonObject,
    done: str,
    printer: Printer,
    dry_run: DryRun,
    connection: ConnectionFlags,
) -> None:
    access = connection.access()
    async with connection.client(access) as client:
        found = await Finder(client, access.namespace).expect(resource, name)
        changed = {**found, "spec": {**found.get("spec", {}), **spec}}
        if dry_run is not DryRun.CLIENT:
            key = (access.namespace if resource.namespaced else "", name)
            options = WriteOptions(dry_run=dry_run is DryRun.SERVER)
            changed = await client.of(resource).patch(key, MergePatch({"spec": spec}), options)
    printer.print(resource, changed, done, dry_run)
