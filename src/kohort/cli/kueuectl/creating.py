"""`create clusterqueue|localqueue|resourceflavor`."""

from collections.abc import Iterable

import click

from kohort.api.codec import JsonObject
from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor
from kohort.api.meta import TAINT_EFFECTS
from kohort.api.names import check_label_value, check_qualified_name
from kohort.api.resource import Resource
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.groups import verb
from kohort.cli.kueuectl.printing import DryRun, Printer, dry_run_option, print_options
from kohort.cli.kueuectl.quotas import resource_groups
from kohort.cli.name_completion import names_of
from kohort.cli.options import running
from kohort.cli.targets import Finder
from kohort.kube.options import WriteOptions

CLUSTER_QUEUE_EXAMPLES = """\b
Examples:
  kubectl kueue create clusterqueue team-a
  kubectl kueue create cq team-a --cohort lab --nominal-quota "default:cpu=9;memory=36Gi"
  kubectl kueue create cq team-a --cohort lab --nominal-quota "a100:nvidia.com/gpu=16,h100:nvidia.com/gpu=8" \\
      --borrowing-limit "a100:nvidia.com/gpu=8,h100:nvidia.com/gpu=0" --reclaim-within-cohort Any
"""
LOCAL_QUEUE_EXAMPLES = """\b
Examples:
  kubectl kueue create localqueue research --clusterqueue team-a
  kubectl kueue create lq research -c team-a -i        # even if the ClusterQueue does not exist yet
"""
FLAVOR_EXAMPLES = """\b
Examples:
  kubectl kueue create resourceflavor a100 --node-labels gpu-type=a100
  kubectl kueue create rf spot --node-taints spot=true:NoSchedule --tolerations spot=true:NoSchedule
"""


class CreateError(ApiError):
    """Invalid arguments."""


create = verb("create", "Create queues and flavors")


@create.command(epilog=CLUSTER_QUEUE_EXAMPLES)
@click.argument("name")
@click.option("--cohort", default="", metavar="NAME", help="Cohort to borrow from and lend to.")
@click.option("--queuing-strategy", default="BestEffortFIFO", show_default=True, help="BestEffortFIFO or StrictFIFO.")
@click.option("--namespace-selector", multiple=True, metavar="KEY=VALUE,…", help="Namespace selector (default: all).")
@click.option("--reclaim-within-cohort", default="Never", show_default=True, help="Never, LowerPriority or Any.")
@click.option(
    "--preemption-within-cluster-queue",
    default="Never",
    show_default=True,
    help="Never, LowerPriority or LowerOrNewerEqualPriority.",
)
@click.option("--nominal-quota", multiple=True, metavar="FLAVOR:RESOURCE=AMOUNT;…,…", help="Nominal quota.")
@click.option("--borrowing-limit", multiple=True, metavar="FLAVOR:RESOURCE=AMOUNT;…,…", help="Borrowing limit.")
@click.option("--lending-limit", multiple=True, metavar="FLAVOR:RESOURCE=AMOUNT;…,…", help="Lending limit.")
@print_options
@dry_run_option
@connection_options
def clusterqueue(
    *,
    name: str,
    cohort: str,
    queuing_strategy: str,
    namespace_selector: tuple[str, ...],
    reclaim_within_cohort: str,
    preemption_within_cluster_queue: str,
    nominal_quota: tuple[str, ...],
    borrowing_limit: tuple[str, ...],
    lending_limit: tuple[str, ...],
    printer: Printer,
    dry_run: DryRun,
    connection: ConnectionFlags,
) -> None:
    """Create a ClusterQueue."""
    selector = pairs("--namespace-selector", namespace_selector)
    groups = resource_groups(
        {"--nominal-quota": nominal_quota, "--borrowing-limit": borrowing_limit, "--lending-limit": lending_limit}
    )
    spec = {
        **({"cohortName": cohort} if cohort else {}),
        "queueingStrategy": queuing_strategy,
        "namespaceSelector": {"matchLabels": selector} if selector else {},
        "preemption": {
            "reclaimWithinCohort": reclaim_within_cohort,
            "withinClusterQueue": preemption_within_cluster_queue,
        },
        **({"resourceGroups": groups} if groups else {}),
    }
    running(
        _create(ClusterQueue.info.resource, {"metadata": {"name": name}, "spec": spec}, printer, dry_run, connection)
    )


@create.command(epilog=LOCAL_QUEUE_EXAMPLES)
@click.argument("name")
@click.option(
    "-c",
    "--clusterqueue",
    "target",
    required=True,
    metavar="NAME",
    shell_complete=names_of("cluster-queues"),
    help="ClusterQueue of the LocalQueue.",
)
@click.option(
    "-i",
    "--ignore-unknown-cq",
    "ignores_unknown",
    is_flag=True,
    help="Create the LocalQueue even if the ClusterQueue does not exist.",
)
@print_options
@dry_run_option
@connection_options
def localqueue(
    *, name: str, target: str, ignores_unknown: bool, printer: Printer, dry_run: DryRun, connection: ConnectionFlags
) -> None:
    """Create a LocalQueue."""
    made = {"metadata": {"name": name}, "spec": {"clusterQueue": target}}
    wanted = "" if ignores_unknown else target
    running(_create(LocalQueue.info.resource, made, printer, dry_run, connection, wanted))


@create.command(epilog=FLAVOR_EXAMPLES)
@click.argument("name")
@click.option("--node-labels", multiple=True, metavar="KEY=VALUE,…", help="Labels of its nodes.")
@click.option("--node-taints", multiple=True, metavar="KEY[=VALUE]:EFFECT,…", help="Taints that pods must tolerate.")
@click.option("--tolerations", multiple=True, metavar="KEY[=VALUE][:EFFECT],…", help="Tolerations added to its pods.")
@print_options
@dry_run_option
@connection_options
def resourceflavor(
    *,
    name: str,
    node_labels: tuple[str, ...],
    node_taints: tuple[str, ...],
    tolerations: tuple[str, ...],
    printer: Printer,
    dry_run: DryRun,
    connection: ConnectionFlags,
) -> None:
    """Create a ResourceFlavor."""
    parts = {
        "nodeLabels": pairs("--node-labels", node_labels),
        "nodeTaints": taints(_split(node_taints)),
        "tolerations": [toleration(text) for text in _split(tolerations)],
    }
    spec = {key: value for key, value in parts.items() if value}
    made = {"metadata": {"name": name}, "spec": spec}
    running(_create(ResourceFlavor.info.resource, made, printer, dry_run, connection))


async def _create(
    resource: Resource,
    obj: JsonObject,
    printer: Printer,
    dry_run: DryRun,
    connection: ConnectionFlags,
    needed: str = "",
) -> None:
    """Create and print an object; `needed` is a ClusterQueue that must exist."""
    made = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
    if resource.namespaced or needed or dry_run is not DryRun.CLIENT:
        made = await _created(resource, made, dry_run, connection, needed)
    printer.print(resource, made, "created", dry_run)


async def _created(
    resource: Resource, made: JsonObject, dry_run: DryRun, connection: ConnectionFlags, needed: str
) -> JsonObject:
    access = connection.access()
    if resource.namespaced:
        made = {**made, "metadata": {**made["metadata"], "namespace": access.namespace}}
    async with connection.client(access) as client:
        if needed:
            await Finder(client, access.namespace).expect(ClusterQueue.info.resource, needed)
        if dry_run is DryRun.CLIENT:
            return made
        options = WriteOptions(dry_run=dry_run is DryRun.SERVER)
        return await client.of(resource).create(made, options=options)


def _split(texts: Iterable[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def pairs(option: str, texts: Iterable[str]) -> dict[str, str]:
    """`key=value,…` as a mapping; raises CreateError."""
    found = dict[str, str]()
    for text in _split(texts):
        key, equals, value = text.partition("=")
        problem = check_qualified_name(key) or check_label_value(value)
        if not equals or problem:
            raise CreateError(f"{option} {text!r}: {problem or 'use KEY=VALUE'}")
        found[key] = value
    return found


def taints(texts: Iterable[str]) -> list[JsonObject]:
    """`key[=value]:effect` as taints, each key and effect once; raises CreateError."""
    found = dict[tuple[str, str], JsonObject]()
    for text in texts:
        key, value, effect = _parted("--node-taints", text)
        if not key or not effect:
            raise CreateError(f"--node-taints {text!r}: use KEY=VALUE:EFFECT")
        if (key, effect) in found:
            raise CreateError(f"--node-taints: duplicate {key}:{effect}")
        found[key, effect] = {"key": key, **({"value": value} if value else {}), "effect": effect}
    return list(found.values())


def toleration(text: str) -> JsonObject:
    """`key[=value][:effect]` or `:effect` as a toleration; raises CreateError."""
    key, value, effect = _parted("--tolerations", text)
    return {
        **({"key": key} if key else {}),
        "operator": "Equal" if value else "Exists",
        **({"value": value} if value else {}),
        **({"effect": effect} if effect else {}),
    }


def _parted(option: str, text: str) -> tuple[str, str, str]:
    """Key, value and effect; empty if absent."""
    front, colon, effect = text.partition(":")
    key, _, value = front.partition("=")
    problem = (check_qualified_name(key) if key else None) or check_label_value(value)
    if problem:
        raise CreateError(f"{option} {text!r}: {problem}")
    if (colon and effect not in TAINT_EFFECTS) or not (key or effect):
        raise CreateError(f"{option} {text!r}: the effect must be one of {', '.join(TAINT_EFFECTS)}")
    return key, value, effect
