"""Output of `kohort queue`: tables, names, JSON and YAML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kohort.api.codec import Json
from kohort.cli.options import DATA, OutputFormat, data_text
from kohort.insight.queues import QueueListing, WorkloadRow, WorkloadState
from kohort.insight.reasons import short_resource
from kohort.terminal.ages import age
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role, Text
from kohort.terminal.tables import Column, TableCell, numbers, table

if TYPE_CHECKING:
    from kohort.terminal.live import Picture


@dataclass(frozen=True, slots=True)
class QueueTableFormat:
    """Output format and columns."""

    output: OutputFormat | None
    shows_namespace: bool

    @property
    def is_wide(self) -> bool:
        """Whether all columns are shown."""
        return self.output is OutputFormat.WIDE


def render_queues(found: QueueListing, form: QueueTableFormat, now: datetime) -> "Picture":
    """A function that renders the listing for a screen."""
    if form.output is OutputFormat.NAME:
        return lambda _screen: [f"workload.kueue.x-k8s.io/{each.key.name}" for each in (*found.waiting, *found.running)]
    if form.output is not None and form.output in DATA:
        text = data_text(as_data(found), form.output)
        return lambda _screen: text.split("\n")
    return lambda screen: _tables(found, form, now, screen)


def _tables(found: QueueListing, form: QueueTableFormat, now: datetime, screen: Screen) -> list[str]:
    if not found.waiting and not found.running:
        return [_nothing(found)]
    waiting = _waiting(found.waiting, form, now, screen) if found.waiting else []
    runs = _running(found.running, form, now, screen) if found.running else []
    return [*waiting, *([""] if waiting and runs else []), *runs]


def _nothing(found: QueueListing) -> str:
    names = sorted({key.name for key in found.queues})
    if not names:
        return "No LocalQueues found (try -A for all namespaces)"
    return f"No workloads found in {', '.join(names[:5])}{' …' if len(names) > 5 else ''}"


def _waiting(lines: Sequence[WorkloadRow], form: QueueTableFormat, now: datetime, screen: Screen) -> list[str]:
    columns = [
        *_head(form, "PENDING"),
        numbers("#"),
        numbers("PRIO"),
        Column("REQUESTS", min_width=8),
        numbers("AGE"),
        Column("REASON", min_width=12),
    ]
    rows = [
        [
            *_first(line, form),
            _place(line, form),
            str(line.priority),
            amounts(line.amounts, form.is_wide),
            age(line.since, now),
            Text(line.why, _ROLES[line.state]),
        ]
        for line in lines
    ]
    return table(columns, rows, screen)


def _running(lines: Sequence[WorkloadRow], form: QueueTableFormat, now: datetime, screen: Screen) -> list[str]:
    columns = [
        *_head(form, "RUNNING"),
        numbers("PRIO"),
        Column("USAGE", min_width=8),
        Column("FLAVOR", min_width=6),
        numbers("DURATION"),
        Column("STATE", min_width=8),
    ]
    rows = [
        [
            *_first(line, form),
            str(line.priority),
            amounts(line.amounts, form.is_wide),
            ",".join(line.flavors),
            age(line.since, now),
            Text(_STATES[line.state] + (f": {line.why}" if line.why else ""), _ROLES[line.state]),
        ]
        for line in lines
    ]
    return table(columns, rows, screen)


_ROLES: Final[Mapping[WorkloadState, Role]] = {
    WorkloadState.WAITING: Role.PLAIN,
    WorkloadState.HELD: Role.WARN,
    WorkloadState.RESERVED: Role.WARN,
    WorkloadState.ADMITTED: Role.GOOD,
    WorkloadState.LEAVING: Role.BAD,
}
_STATES: Final[Mapping[WorkloadState, str]] = {
    WorkloadState.RESERVED: "reserved",
    WorkloadState.ADMITTED: "admitted",
    WorkloadState.LEAVING: "evicted",
}


def _head(form: QueueTableFormat, title: str) -> list[Column]:
    namespace = [Column("NAMESPACE", min_width=8)] if form.shows_namespace else []
    wide = [Column("WORKLOAD"), Column("CLUSTERQUEUE")] if form.is_wide else []
    return [*namespace, Column("QUEUE", min_width=8), Column(title, min_width=20), *wide]


def _first(line: WorkloadRow, form: QueueTableFormat) -> list[TableCell]:
    namespace: list[TableCell] = [line.key.namespace] if form.shows_namespace else []
    name = str(line.owner) if form.is_wide and line.owner is not None else line.name
    wide: list[TableCell] = [line.key.name, line.cluster_queue or "-"] if form.is_wide else []
    return [*namespace, line.local_queue or "-", name, *wide]


def _place(line: WorkloadRow, form: QueueTableFormat) -> str:
    """The position in the LocalQueue, counted from 1; in wide format also in the ClusterQueue."""
    if line.position is None:
        return "-"
    own = line.position.in_local_queue + 1
    return f"{own} ({line.position.in_cluster_queue + 1})" if form.is_wide else str(own)


def amounts(given: Mapping[str, str], is_full: bool) -> str:  # noqa: FBT001
    """`8 cpu, 32Gi mem, 2 gpu`."""
    return ", ".join(f"{amount} {name if is_full else _brief(name)}" for name, amount in given.items()) or "-"


def _brief(resource: str) -> str:
    return {"memory": "mem", "ephemeral-storage": "disk"}.get(resource) or short_resource(resource)


# JSON and YAML


def as_data(found: QueueListing) -> Json:
    """The listing as JSON; documented in docs/how-to/see-queues.md."""
    return {"waiting": [_data(each) for each in found.waiting], "running": [_data(each) for each in found.running]}


def _data(line: WorkloadRow) -> Json:
    owner, position = line.owner, line.position
    return {
        "namespace": line.key.namespace,
        "name": line.name,
        "workload": line.key.name,
        "owner": {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name} if owner else None,
        "localQueue": line.local_queue,
        "clusterQueue": line.cluster_queue,
        "state": line.state.value,
        "priority": line.priority,
        "position": {"inLocalQueue": position.in_local_queue + 1, "inClusterQueue": position.in_cluster_queue + 1}
        if position
        else None,
        "resources": dict(line.amounts),
        "flavors": list(line.flavors),
        "since": line.since.isoformat().replace("+00:00", "Z") if line.since else None,
        "reason": line.reason,
        "message": line.message or line.why,
    }
