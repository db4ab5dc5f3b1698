"""Scenarios: objects and steps as JSON, run on the engine with simulated jobs.

One form for golden tests, counterexamples of property tests, benchmarks and the comparison with the real Kueue. A
scenario is `{"objects": [manifest …], "steps": [step …]}`; a step is one of

    {"put": manifest}                      create or change an object; a Workload without status keeps the one it has
    {"delete": {"kind", "namespace", "name"}}
    {"cycle": 1}                           run so many single cycles
    {"schedule": {}}                       run cycles until nothing moves
    {"settle": {}}                         jobs of evicted workloads stop: their quota is released
    {"finish": "namespace/name"}           a job ends
    {"reclaim": {"workload": "namespace/name", "pods": {"set": 1}}}  so many pods of it are done
    {"nodeUsage": {"node": "n1", "requests": {"cpu": "2"}, "pods": 1}}  what pods without places use of a node
    {"failNodes": {"workload": "namespace/name", "nodes": ["n1"]}}  nodes of a workload have failed
    {"conflict": "namespace/name"}         the next admission or eviction of that workload can't be written
    {"wait": seconds}                      time passes
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.conditions import find, is_true
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import Node
from kohort.api.errors import ApiError
from kohort.api.kinds import kind_of
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import ReclaimablePod, UnhealthyNode, WorkloadStatus
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import (
    Decision,
    Evict,
    EvictForFailedNodes,
    KeepPending,
    KeepUnplaced,
    Migrate,
    RequeueReason,
    Reserve,
)
from kohort.engine.engine import Engine
from kohort.engine.events import EvictionFailed, NodeUsageChanged, ObjectDeleted, ObjectUpserted, ReservationFailed
from kohort.engine.lifecycle.admission import NotAdmitted, Reservation, refuse, reserve
from kohort.engine.lifecycle.eviction import EvictionCause, evict, for_better_flavor, release, without_replacement
from kohort.engine.lifecycle.finishing import finish
from kohort.engine.lifecycle.preemption import PreemptionParty, PreemptionRecord, preempt
from kohort.engine.lifecycle.preemption_gates import block_on_gates
from kohort.engine.lifecycle.slices import end_replaced, take_over
from kohort.engine.requests.demand import PODS
from kohort.engine.requests.lists import amounts_of
from kohort.engine.settings import EngineSettings

_CORE_KINDS: Final[Mapping[str, type]] = {"Namespace": Namespace, "LimitRange": LimitRange, "Node": Node}
DAWN: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ScenarioRunner:
    """The engine with everything round it that a cluster would do at once."""

    settings: EngineSettings = field(default_factory=EngineSettings)
    now: datetime = DAWN
    engine: Engine = field(init=False)
    workloads: dict[ObjectKey, Workload] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    """What the last step decided."""
    conflicts: set[ObjectKey] = field(default_factory=set)
    """Workloads of which the next write fails."""

    def __post_init__(self) -> None:
        self.engine = Engine(self.settings)

    def play(self, scenario: Json) -> None:
        """Put the objects up and perform all steps."""
        for manifest in scenario.get("objects", ()):
            self.put(manifest)
        for step in scenario.get("steps", ()):
            self.perform(step)

    def perform(self, step: Json) -> list[Decision]:
        """Perform one step; what it decided."""
        ((name, argument),) = step.items()
        action = _ACTIONS.get(name)
        if action is None:
            raise ApiError(f"no such step: {name}; the known ones are {', '.join(_ACTIONS)}")
        self.decisions = []
        action(self, argument)
        return self.decisions

    # Steps

    def put(self, manifest: Json) -> None:
        """Create or change an object."""
        kind = _CORE_KINDS.get(manifest["kind"]) or kind_of(manifest["apiVersion"], manifest["kind"])
        if kind is None:
            raise ApiError(f"scenarios know no {manifest['apiVersion']} {manifest['kind']}")
        thing: Any = from_json(manifest, kind)
        if isinstance(thing, Workload):
            old = self._stored(thing)
            stored = _as_stored(thing, old, self.now)
            self.show(old if old is not None and stored == old else stored)
        else:
            self.engine.apply(ObjectUpserted(thing), self.now)

    def delete(self, what: Json) -> None:
        """Delete an object."""
        key = ObjectKey(what.get("namespace", ""), what["name"])
        self.workloads.pop(key, None)
        self.engine.apply(ObjectDeleted(what["kind"], key), self.now)

    def cycle(self, times: int = 1) -> list[Decision]:
        """Run single cycles."""
        for _ in range(times):
            self._carry_out(self.engine.run_cycle(self.now))
        return self.decisions

    def schedule(self, _argument: Json = None) -> list[Decision]:
        """Run cycles until nothing moves."""
        self._carry_out(self.engine.schedule(self.now))
        return self.decisions

    def settle(self, _argument: Json = None) -> None:
        """Jobs of evicted workloads have stopped."""
        for workload in list(self.workloads.values()):
            self.show(release(workload, self.settings.gates, self.now))

    def finish(self, name: str) -> None:
        """A job has ended."""
        self.show(finish(self.workloads[_key_of(name)], "Succeeded", "Job finished successfully", self.now))

    def reclaim(self, what: Json) -> None:
        """Pods of a job have ended early, so many of each pod set (SCH-133)."""
        workload = self.workloads[_key_of(what["workload"])]
        pods = tuple(ReclaimablePod(name=name, count=count) for name, count in what["pods"].items())
        status = msgspec.structs.replace(workload.status, reclaimable_pods=pods)
        if status != workload.status:
            self.show(msgspec.structs.replace(workload, status=status))

    def node_usage(self, what: Json) -> None:
        """Pods without places run on a node (TAS-27)."""
        amounts = {**amounts_of(what.get("requests", {})), PODS: what.get("pods", 0)}
        used = {name: amount for name, amount in amounts.items() if amount}
        self.engine.apply(NodeUsageChanged(what["node"], used), self.now)

    def fail_nodes(self, what: Json) -> None:
        """Nodes of a workload have failed, or no more (TAS-10)."""
        workload = self.workloads[_key_of(what["workload"])]
        nodes = tuple(UnhealthyNode(name=name) for name in what["nodes"])
        status = msgspec.structs.replace(workload.status, unhealthy_nodes=nodes)
        self.show(msgspec.structs.replace(workload, status=status))

    def conflict(self, name: str) -> None:
        """The next write of the workload fails with a conflict."""
        self.conflicts.add(_key_of(name))

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)

    def show(self, workload: Workload) -> None:
        """Apply the current state of a workload to the engine."""
        key = ObjectKey(workload.metadata.namespace, workload.metadata.name)
        if self.workloads.get(key) is not workload:
            self.workloads[key] = workload
            self.engine.apply(ObjectUpserted(workload), self.now)

    # Decisions

    def _stored(self, workload: Workload) -> Workload | None:
        """What a write changes; nothing where it brings a UID of its own."""
        old = self.workloads.get(ObjectKey(workload.metadata.namespace, workload.metadata.name))
        return old if old is not None and workload.metadata.uid in ("", old.metadata.uid) else None

    def _fails(self, decision: Decision) -> bool:
        """Whether the write of a decision fails with a conflict; KeepPending is written the next time."""
        if isinstance(decision, KeepPending | KeepUnplaced) or decision.workload not in self.conflicts:
            return False
        self.conflicts.discard(decision.workload)
        failed = ReservationFailed if isinstance(decision, Reserve) else EvictionFailed
        self.engine.apply(failed(decision.workload), self.now)
        return True

    def _carry_out(self, decisions: list[Decision]) -> None:
        self.decisions += decisions
        for decision in decisions:
            if self._fails(decision):
                continue
            workload = self.workloads[decision.workload]
            match decision:
                case Reserve():
                    self._reserve(workload, decision)
                case Evict():
                    self.show(preempt(workload, self._preemption(decision), self.now).workload)
                case Migrate():
                    self.show(evict(workload, self._migration(decision), self.now).workload)
                case EvictForFailedNodes():
                    self.show(evict(workload, without_replacement(decision.nodes), self.now).workload)
                case KeepUnplaced():
                    pass
                case KeepPending():
                    self._refuse(workload, decision)

    def _reserve(self, workload: Workload, decision: Reserve) -> None:
        """Write the admission, then end the slice that it replaces (SCH-1104)."""
        reserved = self.with_reservation(workload, decision)
        replaced = self.workloads.get(decision.replaces) if decision.replaces else None
        self.show(take_over(reserved, replaced) if replaced else reserved)
        if replaced is not None:
            self.show(end_replaced(replaced, reserved, self.now).workload)

    def with_reservation(self, workload: Workload, decision: Reserve) -> Workload:
        """The workload with its admission, as if its checks were passed at once."""
        reservation = Reservation(decision.admission, frozenset(), decision.considered)
        return reserve(workload, reservation, self.settings.gates, self.now).workload

    def _refuse(self, workload: Workload, decision: KeepPending) -> None:
        refusal = NotAdmitted(decision.reason, decision.message)
        refused = refuse(workload, refusal, self.settings.gates, self.now).workload
        self.show(block_on_gates(refused, self.now) if decision.requeue is RequeueReason.PREEMPTION_GATED else refused)

    def _preemption(self, decision: Evict) -> PreemptionRecord:
        preemptor = PreemptionParty(self.workloads[decision.preemptor].metadata.uid, path=decision.preemptor_path)
        return PreemptionRecord(decision.reason, preemptor, PreemptionParty(path=decision.victim_path))  # type: ignore[arg-type]

    def _migration(self, decision: Migrate) -> EvictionCause:
        return for_better_flavor(self.workloads[decision.successor].metadata.uid)

    # Questions

    @property
    def admitted(self) -> dict[str, dict[str, str]]:
        """Flavors by resource of the first pod set of every workload that holds quota, by name."""
        return {
            key.name: dict(workload.status.admission.pod_set_assignments[0].flavors)
            for key, workload in self.workloads.items()
            if workload.status.admission is not None and is_true(workload.status.conditions, "QuotaReserved")
        }

    def pending_reason(self, name: str) -> tuple[str, str]:
        """Reason and message of QuotaReserved=False."""
        workload = next(each for key, each in self.workloads.items() if key.name == name)
        condition = find(workload.status.conditions, "QuotaReserved")
        if condition is None or condition.status == "True":
            return "", ""
        return condition.reason, condition.message


_ACTIONS: dict[str, Callable[[ScenarioRunner, Any], Any]] = {
    "put": ScenarioRunner.put,
    "delete": ScenarioRunner.delete,
    "cycle": ScenarioRunner.cycle,
    "schedule": ScenarioRunner.schedule,
    "settle": ScenarioRunner.settle,
    "finish": ScenarioRunner.finish,
    "reclaim": ScenarioRunner.reclaim,
    "nodeUsage": ScenarioRunner.node_usage,
    "failNodes": ScenarioRunner.fail_nodes,
    "conflict": ScenarioRunner.conflict,
    "wait": ScenarioRunner.wait,
}


def _key_of(name: str) -> ObjectKey:
    namespace, _, short = name.rpartition("/")
    return ObjectKey(namespace, short)


def _as_stored(workload: Workload, old: Workload | None, now: datetime) -> Workload:
    """What an API server makes of a write: birth on create; on change, the status that a client did not send."""
    metadata = workload.metadata
    born = old.metadata if old else metadata
    changed = old is not None and old.spec != workload.spec
    return msgspec.structs.replace(
        workload,
        metadata=msgspec.structs.replace(
            metadata,
            uid=born.uid or f"uid-{metadata.namespace}-{metadata.name}",
            creation_timestamp=born.creation_timestamp or now,
            generation=(born.generation or 1) + changed,
        ),
        status=old.status if old and workload.status == WorkloadStatus() else workload.status,
    )
