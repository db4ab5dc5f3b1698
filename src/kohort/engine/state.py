"""What the engine knows: objects come in as events and are kept as records, queues and sums.

Nothing is decided here. What happened since the last turn is noted as stirred queues and retries, so that a turn looks
only where something could have changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.namespaces import LimitRange, Namespace
from kohort.api.core.nodes import RuntimeClass
from kohort.api.errors import ApiError
from kohort.api.gates import Gate
from kohort.api.kueue import v1beta2
from kohort.api.selectors import compile_selector
from kohort.engine import intake
from kohort.engine.eligibility import Eligibility
from kohort.engine.equivalence import equivalence
from kohort.engine.events import Event, EvictionFailed, Gone, Put, ReservationFailed
from kohort.engine.forest import CohortNode, Forest, Node
from kohort.engine.intake import Conditions
from kohort.engine.pending import PendingQueue
from kohort.engine.quota import FlavorResource
from kohort.engine.records import Flavor, Key, PodSet, Queue, Workload
from kohort.engine.requests.demand import demands
from kohort.engine.requests.environment import Environment
from kohort.engine.requests.problems import resource_problem
from kohort.engine.requests.usage import admitted_usage
from kohort.engine.settings import Settings
from kohort.engine.surroundings import Surroundings
from kohort.engine.usage_history import UsageHistory
from kohort.engine.variants import Variants


@dataclass(slots=True)
class LocalQueue:
    """A LocalQueue: the way from a namespace to a ClusterQueue."""

    cluster_queue: str = ""
    is_stopped: bool = False
    workloads: dict[Key, Workload] = field(default_factory=dict)
    """Workloads that name this queue, whether it exists or not."""


class State:
    """All queues, flavors and workloads as they are now."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.rules = self.settings.cycle
        self.forest = Forest()
        self.flavors: dict[str, Flavor] = {}
        self.eligibility = Eligibility()
        self.queues: dict[str, Queue] = {}
        self.pending: dict[str, PendingQueue] = {}
        self.local_queues: dict[Key, LocalQueue] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.checks: dict[str, bool] = {}
        """Whether each AdmissionCheck is active."""
        self.workloads: dict[Key, Workload] = {}
        self._specs: dict[str, v1beta2.ClusterQueue] = {}
        self._assumed: dict[Key, v1beta2.Workload | None] = {}
        """Admissions that were decided and not yet seen in an object, each with the object that was seen instead."""
        self._strays: dict[Key, Workload] = {}
        """Workloads that hold quota of a ClusterQueue that is not there, or not yet."""
        self._evicting: set[str] = set()
        """UIDs of victims whose eviction was issued and not yet seen (SCH-650)."""
        self._stirred: set[str] = set()
        """Queues where something happened since the last turn."""
        self._loosened: set[Node] = set()
        """Tops of the trees where room may have appeared (SCH-261)."""
        self._retries: set[str] = set()
        """Queues whose tree may have room again (SCH-260)."""
        self._surroundings = Surroundings()
        self.variants = Variants()
        self.history = UsageHistory(self.settings.history) if self.settings.history else None
        """What LocalQueues used lately, where that is asked for."""

    # Events

    def apply(self, event: Event, now: datetime) -> None:
        """Take in what happened."""
        match event:
            case Put(object=thing):
                self._put(thing, now)
            case Gone(kind=kind, key=key):
                self._gone(kind, key, now)
            case ReservationFailed(workload=key):
                self._take_back(key, now)
            case EvictionFailed(workload=key):
                self._forget_eviction(key)

    def _put(self, thing: object, now: datetime) -> None:
        match thing:
            case v1beta2.Workload():
                self._put_workload(thing, now)
            case v1beta2.ClusterQueue():
                self._put_queue(thing, now)
            case v1beta2.Cohort():
                self._put_cohort(thing)
            case v1beta2.LocalQueue():
                self._put_local_queue(thing, now)
            case v1beta2.ResourceFlavor():
                self.flavors[thing.metadata.name] = intake.flavor_of(thing)
                self._revisit_queues(flavor=thing.metadata.name)
            case v1beta2.AdmissionCheck():
                active = find(thing.status.conditions, "Active")
                self.checks[thing.metadata.name] = active is not None and active.status == "True"
                self._revisit_queues(check=thing.metadata.name)
            case Namespace():
                self._put_namespace(thing)
            case LimitRange():
                self._surroundings.put_limit_range(thing)
                self._reread(thing.metadata.namespace, now)
            case RuntimeClass():
                self._surroundings.put_runtime_class(thing)
                self._reread("", now)

    def _gone(self, kind: str, key: Key, now: datetime) -> None:
        match kind:
            case "Workload":
                self._remove_workload(key)
            case "ClusterQueue":
                self._remove_queue(key.name)
            case "Cohort":
                self._remove_cohort(key.name)
            case "LocalQueue":
                self._leave_local_queue(key)
            case "ResourceFlavor":
                self.flavors.pop(key.name, None)
                self._revisit_queues(flavor=key.name)
            case "AdmissionCheck":
                self.checks.pop(key.name, None)
                self._revisit_queues(check=key.name)
            case "Namespace":
                self.namespaces.pop(key.name, None)
            case "LimitRange":
                self._surroundings.remove_limit_range(key)
                self._reread(key.namespace, now)
            case "RuntimeClass":
                self._surroundings.remove_runtime_class(key.name)
                self._reread("", now)

    def _put_namespace(self, thing: Namespace) -> None:
        """SCH-261."""
        if self.namespaces.get(thing.metadata.name) != thing.metadata.labels:
            self.namespaces[thing.metadata.name] = thing.metadata.labels
            self._retries.update(self.queues)

    # Queues and cohorts

    def _put_queue(self, thing: v1beta2.ClusterQueue, now: datetime) -> None:
        name, spec = thing.metadata.name, thing.spec
        before = self._specs.get(name)
        self._specs[name] = thing
        if before is not None and _decide_alike(before, thing):
            return
        if name in self.queues:
            self._stir_tree_of(self.queues[name].node)
        node = self.forest.set_queue(
            name, spec.cohort_name, intake.quotas_of(spec.resource_groups), intake.weight_of(spec.fair_sharing)
        )
        queue = self.queues.get(name)
        if queue is None:
            queue = self.queues[name] = Queue(name, node)
            self.pending[name] = PendingQueue(queue)
            self._adopt_strays(name, now)
        queue.policies = intake.policies_of(spec)
        queue.set_groups(intake.groups_of(spec.resource_groups))
        queue.namespaces = compile_selector(spec.namespace_selector)
        policy = spec.concurrent_admission_policy
        constraints = policy.migration.constraints if policy else None
        queue.last_acceptable_flavor = (constraints.last_acceptable_flavor_name or "") if constraints else ""
        scope = spec.admission_scope
        by_usage = scope is not None and scope.admission_mode == "UsageBasedAdmissionFairSharing"
        queue.orders_by_usage = by_usage and self.history is not None
        self.pending[name].order_by(self.history.usage_of if self.history and by_usage else None)
        self._refresh_activity(queue)
        self._stir_tree_of(node)
        if before is None:
            self._fill_from_local_queues(name, now)

    def _fill_from_local_queues(self, name: str, now: datetime) -> None:
        """Workloads that waited for the queue to exist wait in it from now on (SCH-202)."""
        for local_queue in self.local_queues.values():
            if local_queue.cluster_queue == name:
                self._enqueue_all(local_queue, now)

    def _adopt_strays(self, name: str, now: datetime) -> None:
        """Workloads that came before their queue hold its quota from the first (SCH-420)."""
        for workload in list(self._strays.values()):
            thing = workload.object
            if thing is not None and thing.status.admission and thing.status.admission.cluster_queue == name:
                del self._strays[workload.key]
                self._hold(workload, thing, intake.conditions_of(thing), now)

    def _remove_queue(self, name: str) -> None:
        queue = self.queues.pop(name, None)
        if queue is None:
            return
        self._stir_tree_of(queue.node)
        for workload in self.pending.pop(name).listing().workloads:
            workload.queue = None
        for workload in list(queue.holders.values()):
            self._release(workload)
            self._strays[workload.key] = workload
        del self._specs[name]
        self.forest.remove_queue(name)

    def _put_cohort(self, thing: v1beta2.Cohort) -> None:
        spec = thing.spec
        if thing.metadata.name in self.forest.cohorts:
            self._stir_tree_of(self.forest.cohorts[thing.metadata.name])
        node = self.forest.set_cohort(
            thing.metadata.name,
            spec.parent_name,
            intake.quotas_of(spec.resource_groups),
            intake.weight_of(spec.fair_sharing),
        )
        self._stir_tree_of(node)
        self._untangle()

    def _remove_cohort(self, name: str) -> None:
        """Both the tree that it leaves and what stays below it get another look (SCH-401, SCH-261)."""
        node = self.forest.cohorts.get(name)
        if node is not None:
            self._stir_tree_of(node)
            self.forest.remove_cohort(name)
            self._stir_tree_of(node)
            self._untangle()

    def _untangle(self) -> None:
        """Parents may have begun or ceased to run in a circle (SCH-402)."""
        for queue in self.queues.values():
            self._refresh_activity(queue)

    def _stir_tree_of(self, node: Node) -> None:
        """Capacity of the tree may have changed: everything parked in it gets another look (SCH-261)."""
        if not self.forest.is_cyclic(node):
            self._loosened.add(node.top())

    def _names_in_tree(self, node: Node) -> list[str]:
        return [] if self.forest.is_cyclic(node) else _names_below(node.top())

    def _revisit_queues(self, flavor: str = "", check: str = "") -> None:
        """A flavor or check came, changed or went: the queues that name it may wake or sleep (SCH-1051)."""
        for name, thing in self._specs.items():
            uses_flavor = any(each.name == flavor for group in thing.spec.resource_groups for each in group.flavors)
            uses_check = check in _check_names(thing)
            if uses_flavor or uses_check:
                self._refresh_activity(self.queues[name])
                self._stir_tree_of(self.queues[name].node)

    def _refresh_activity(self, queue: Queue) -> None:
        """SCH-1051, SCH-402."""
        thing = self._specs[queue.name]
        was_active = queue.is_active
        flavors = {flavor for group in queue.groups for flavor in group.flavors}
        queue.is_active = (
            thing.spec.stop_policy == "None"
            and thing.metadata.deletion_timestamp is None
            and flavors <= self.flavors.keys()
            and all(self.checks.get(check, False) for check in _check_names(thing))
            and not self.forest.is_cyclic(queue.node)
        )
        if queue.is_active and not was_active:
            self._stirred.add(queue.name)

    # Local queues

    def _put_local_queue(self, thing: v1beta2.LocalQueue, now: datetime) -> None:
        key = Key(thing.metadata.namespace, thing.metadata.name)
        local_queue = self.local_queues.setdefault(key, LocalQueue())
        self._open_account(key, thing, now)
        way = (thing.spec.cluster_queue or "", thing.spec.stop_policy != "None")
        if way == (local_queue.cluster_queue, local_queue.is_stopped):
            return
        for workload in local_queue.workloads.values():
            self._dequeue(workload)
        local_queue.cluster_queue, local_queue.is_stopped = way
        self._enqueue_all(local_queue, now)

    def _open_account(self, key: Key, thing: v1beta2.LocalQueue, now: datetime) -> None:
        """SCH-804, SCH-807."""
        if self.history is None:
            return
        self.history.set_weight(key, intake.weight_of(thing.spec.fair_sharing))
        sharing = thing.status.fair_sharing
        if sharing is not None and sharing.admission_fair_sharing_status is not None:
            self.history.seed(key, sharing.admission_fair_sharing_status.consumed_resources, now)

    def _leave_local_queue(self, key: Key) -> None:
        local_queue = self.local_queues.get(key, LocalQueue())
        for workload in local_queue.workloads.values():
            self._dequeue(workload)
        local_queue.cluster_queue = ""
        if self.history is not None:
            self.history.forget(key)

    def _enqueue_all(self, local_queue: LocalQueue, now: datetime) -> None:
        for workload in local_queue.workloads.values():
            self._enqueue(workload, now)

    # Workloads

    def _put_workload(self, thing: v1beta2.Workload, now: datetime) -> None:
        key = Key(thing.metadata.namespace, thing.metadata.name)
        workload = self.workloads.get(key)
        if workload is not None and workload.uid != thing.metadata.uid:
            self._remove_workload(key)
            workload = None
        if workload is None:
            workload = self.workloads[key] = Workload(key, thing.metadata.uid)
        conditions = intake.conditions_of(thing)
        if key in self._assumed and not self._confirms(workload, thing, conditions):
            self._assumed[key] = thing
            return
        self._strays.pop(key, None)
        matters = intake.matters_in_the_pool(workload.object, thing, conditions)
        was_admitted = workload.is_admitted
        self._read(workload, thing, conditions)
        if intake.holds_quota(thing, conditions):
            self._hold(workload, thing, conditions, now)
            if workload.is_admitted and not was_admitted:
                self._settle_penalty(workload, now)
            return
        if intake.is_over(thing, conditions):
            self._drop_penalty(workload)
            self._stir_home_of(workload)
        self._release(workload)
        self._evicting.discard(workload.uid)
        if not intake.is_admissible(thing, conditions, self.settings.gates):
            self._dequeue(workload)
        elif matters or workload.queue is None:
            self._line_up(workload, now)
        else:
            self.pending[workload.queue.name].update(workload, now, changed=False)

    def _confirms(self, workload: Workload, thing: v1beta2.Workload, conditions: Conditions) -> bool:
        """Whether an object that was assumed admitted shows it, or shows that it no longer can be."""
        settled = intake.holds_quota(thing, conditions) or intake.is_over(thing, conditions)
        if settled:
            del self._assumed[workload.key]
        return settled

    def _read(self, workload: Workload, thing: v1beta2.Workload, conditions: Conditions) -> None:
        """Take over what the object says, and note what follows from it for others."""
        if workload.object is None or workload.local_queue.name != (thing.spec.queue_name or ""):
            self._join_local_queue(workload, Key(workload.key.namespace, thing.spec.queue_name or ""))
        priority = intake.effective_priority(thing, self.settings.gates)
        if priority != workload.priority and workload.has_quota and workload.queue is not None:
            workload.queue.recount(workload, priority)
            self._stir_tree_of(workload.queue.node)
        self._note_readiness(workload, intake.holds(conditions, "PodsReady"))
        self.variants.note(workload, intake.parent_of(thing, self.settings.gates))
        self.describe(workload, thing, conditions)
        if workload.evicted:
            self._evicting.discard(workload.uid)

    def describe(self, workload: Workload, thing: v1beta2.Workload, conditions: Conditions) -> None:
        """Set what the object says of the workload, be it submitted or not; nothing else of the engine changes."""
        gates = self.settings.gates
        before, workload.object = workload.object, thing
        counted_for = (workload.priority, workload.allowed_flavors, workload.replaces, workload.environment)
        workload.generation = thing.metadata.generation
        workload.priority = intake.effective_priority(thing, gates)
        workload.created = thing.metadata.creation_timestamp
        workload.queued_at = intake.queue_timestamp(thing, conditions, self.settings)
        workload.backoff_until = intake.backoff_until(thing, conditions)
        workload.is_admitted = intake.holds(conditions, "Admitted")
        workload.has_closed_gate = intake.has_closed_gate(thing)
        workload.allowed_flavors = intake.allowed_flavors(thing, gates)
        replaced = intake.replaced_slice(thing, gates)
        workload.replaces = self.workloads.get(replaced) if replaced else None
        workload.evicted = intake.holds(conditions, "Evicted")
        workload.environment = self._surroundings.of(workload.key.namespace)
        counts_for = (workload.priority, workload.allowed_flavors, workload.replaces, workload.environment)
        if counted_for != counts_for or not intake.asks_the_same(before, thing):
            self._count_demand(workload, thing, workload.environment)

    def _count_demand(self, workload: Workload, thing: v1beta2.Workload, environment: Environment) -> None:
        """What the workload asks for, and whom it is equal to: the dear part of reading, done only if it may differ."""
        gates = self.settings.gates
        workload.problem = resource_problem(thing, environment) or ""
        try:
            asked = demands(thing, self.settings.requests, environment, gates)
        except ApiError:
            # An unreadable template is told as the workload's obstacle when its turn comes; others go on.
            workload.pod_sets, workload.equivalence = (), ""
            return
        workload.pod_sets = tuple(
            PodSet(
                each.name,
                each.count,
                each.spec_count,
                each.min_count,
                each.per_pod,
                pod_set.pod_template,
                (pod_set.topology_request.pod_set_group_name or "") if pod_set.topology_request else "",
            )
            for each, pod_set in zip(asked, thing.spec.pod_sets, strict=True)
        )
        # What a replacement asks for depends on the slice it replaces, which makes it equal to nobody (§14).
        is_comparable = gates.enabled(Gate.SchedulingEquivalenceHashing) and workload.replaces is None
        workload.equivalence = (
            equivalence(thing, workload.priority, asked, workload.allowed_flavors) if is_comparable else ""
        )

    def _reread(self, namespace: str, now: datetime) -> None:
        """What pods ask for may have changed in a namespace, or everywhere: pending workloads enter anew (SCH-123)."""
        for workload in list(self.workloads.values()):
            if workload.object is not None and not workload.has_quota and namespace in ("", workload.key.namespace):
                self._read(workload, workload.object, intake.conditions_of(workload.object))
                self._enqueue(workload, now)

    def _note_readiness(self, workload: Workload, ready: bool) -> None:  # noqa: FBT001
        """Pods that became ready may be what everybody waits for (SCH-1035)."""
        if ready and not workload.pods_ready and self.settings.waits_for_pods:
            self._stirred.update(self.queues)
        workload.pods_ready = ready

    def _join_local_queue(self, workload: Workload, key: Key) -> None:
        self._drop_penalty(workload)
        former = self.local_queues.get(workload.local_queue)
        if former is not None:
            former.workloads.pop(workload.key, None)
        workload.local_queue = key
        self.local_queues.setdefault(key, LocalQueue()).workloads[workload.key] = workload

    def _hold(self, workload: Workload, thing: v1beta2.Workload, conditions: Conditions, now: datetime) -> None:
        """Count what the object says it holds."""
        self._dequeue(workload)
        admission = thing.status.admission
        queue = self.queues.get(admission.cluster_queue) if admission else None
        reserved = conditions.get("QuotaReserved")
        usage: dict[FlavorResource, int] = {}
        by_pod_set = admitted_usage(thing, self.settings.gates)
        for pod_set in by_pod_set:
            for resource, amount in pod_set.amounts.items():
                if resource in pod_set.flavors:
                    fr = FlavorResource(pod_set.flavors[resource], resource)
                    usage[fr] = usage.get(fr, 0) + amount
        since = reserved.last_transition_time if reserved else now
        if not (workload.has_quota and workload.queue is queue and workload.usage == usage):
            self._release(workload)
            if queue is None:
                self._strays[workload.key] = workload
                return
            workload.usage = usage
            queue.add_holder(workload)
        elif queue is not None:
            queue.node.generation += 1
        workload.reserved_at, workload.held_by_pod_set = since, by_pod_set

    def _release(self, workload: Workload) -> None:
        """Give its quota back, and let others of the tree have another look."""
        if not workload.has_quota:
            return
        if workload.queue is not None:
            queue, workload.queue = workload.queue, None
            queue.drop_holder(workload)
            self._stir_tree_of(queue.node)
        workload.usage, workload.reserved_at, workload.held_by_pod_set = {}, None, ()

    def _remove_workload(self, key: Key) -> None:
        workload = self.workloads.pop(key, None)
        if workload is None:
            return
        self._assumed.pop(key, None)
        self._strays.pop(key, None)
        self._evicting.discard(workload.uid)
        self.variants.forget(workload)
        self._drop_penalty(workload)
        self._stir_home_of(workload)
        self._release(workload)
        self._dequeue(workload)
        local_queue = self.local_queues.get(workload.local_queue)
        if local_queue is not None:
            local_queue.workloads.pop(key, None)

    def _stir_home_of(self, workload: Workload) -> None:
        """Whoever leaves for good, holding or waiting, gives others of the tree another look (SCH-261)."""
        local_queue = self.local_queues.get(workload.local_queue)
        if local_queue is None or local_queue.is_stopped:
            return
        queue = self.queues.get(local_queue.cluster_queue)
        if queue is not None:
            self._stir_tree_of(queue.node)

    def _take_back(self, key: Key, now: datetime) -> None:
        """The write failed: on with what is known of the object by now, which may be why it failed (SCH-352)."""
        workload = self.workloads.get(key)
        if workload is None or key not in self._assumed:
            return
        latest = self._assumed.pop(key) or workload.object
        self._drop_penalty(workload)
        self._release(workload)
        if latest is not None:
            self._put_workload(latest, now)

    def _forget_eviction(self, key: Key) -> None:
        """Let whoever still needs the eviction issue it again (SCH-654)."""
        workload = self.workloads.get(key)
        if workload is not None:
            self._evicting.discard(workload.uid)
            self._stirred.update([workload.queue.name] if workload.queue else [])

    # Past usage

    def _settle_penalty(self, workload: Workload, now: datetime) -> None:
        """SCH-806."""
        if self.history is not None and workload.queue is not None and workload.queue.orders_by_usage:
            local_queue = workload.local_queue
            self.history.settle(local_queue, workload.key, self._admitted_by(local_queue), now)

    def _drop_penalty(self, workload: Workload) -> None:
        """SCH-806."""
        if self.history is not None:
            self.history.drop(workload.local_queue, workload.key)

    def _admitted_by(self, key: Key) -> dict[str, int]:
        """What admitted workloads of a LocalQueue use, over all flavors (SCH-803)."""
        totals: dict[str, int] = {}
        for workload in self.local_queues[key].workloads.values():
            if workload.has_quota and workload.is_admitted:
                for fr, amount in workload.usage.items():
                    totals[fr.resource] = totals.get(fr.resource, 0) + amount
        return totals

    # Waiting

    def _enqueue(self, workload: Workload, now: datetime) -> None:
        """Let it wait, if it may."""
        thing = workload.object
        if thing is None or workload.has_quota:
            return
        if intake.is_admissible(thing, intake.conditions_of(thing), self.settings.gates):
            self._line_up(workload, now)

    def _line_up(self, workload: Workload, now: datetime) -> None:
        """Let it wait in the ClusterQueue that its LocalQueue leads to (SCH-202)."""
        local_queue = self.local_queues.get(workload.local_queue)
        stopped = local_queue is None or local_queue.is_stopped
        queue = None if local_queue is None or stopped else self.queues.get(local_queue.cluster_queue)
        if workload.queue is not queue:
            self._dequeue(workload)
        if queue is not None:
            workload.queue = queue
            self.pending[queue.name].push(workload, now)
            self._stirred.add(queue.name)

    def _dequeue(self, workload: Workload) -> None:
        if workload.queue is not None and not workload.has_quota:
            pending = self.pending.get(workload.queue.name)
            if pending is not None:
                pending.remove(workload)
                self._stirred.add(workload.queue.name)
            workload.queue = workload.progress = None


def _decide_alike(before: v1beta2.ClusterQueue, after: v1beta2.ClusterQueue) -> bool:
    """Whether nothing changed that decisions depend on, as after a write of the status (SCH-261)."""
    return (before.spec, before.metadata.deletion_timestamp) == (after.spec, after.metadata.deletion_timestamp)


def _names_below(top: Node) -> list[str]:
    return [leaf.name for leaf in top.all_queues()] if isinstance(top, CohortNode) else [top.name]


def _check_names(thing: v1beta2.ClusterQueue) -> list[str]:
    strategy = thing.spec.admission_checks_strategy
    return [check.name for check in strategy.admission_checks] if strategy else []
