"""The controller of a stand-in: jobs of one kind, and the objects that were created for them."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.meta import ObjectKey
from kohort.jobs.objects import is_terminating, metadata, value_at
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.indexer import Indexer
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope
from kohort.kube.workqueue import WorkQueue
from kohort.operators.contract import ChildKind, ChildPlan, StandIn
from kohort.operators.executor import PlanExecutor
from kohort.operators.unsupported import LARGEST, unsupported_fields

log = logging.getLogger(__name__)

WORKERS: Final = 4
MOST_CREATES: Final = 200
"""Maximum number of objects that one reconcile creates; their events cause the next one."""
_BAD_SPEC: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What a plan raises for an object of wrong types, which a definition other than ours may accept."""


class StandInController:
    """Reconciles the jobs of one stand-in."""

    def __init__(
        self, client: Client, informers: SharedInformerFactory, stand_in: StandIn, recorder: EventRecorder
    ) -> None:
        self._client = client
        self._stand_in = stand_in
        name = f"{stand_in.resource.kind.lower()}-stand-in"
        self._queue = WorkQueue[ObjectKey](client.clock, name)
        self._controller = Controller(name, self._queue, self.reconcile, client.clock)
        kinds = {each.resource.kind: each.resource for each in stand_in.children}
        self._executor = PlanExecutor(client, recorder, stand_in.resource, kinds)
        self._jobs = informers.of(stand_in.resource)
        self._jobs.subscribe(self._on_job)
        self._children = {each.resource.kind: self._watched(informers, each) for each in stand_in.children}
        self._reported: dict[str, int] = {}
        """Generation of each job, by UID, whose ignored fields were reported."""

    def start(self) -> None:
        """Start the workers; the informers must have synced."""
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Finish reconciles in progress."""
        await self._controller.stop()

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Bring the objects and the status of a job in line with its spec."""
        job = self._jobs.cache.get(key)
        if job is None or is_terminating(job) or self._is_managed_elsewhere(job):
            return None
        plan = self._plan(job)
        if plan is None:
            return None
        now = self._client.clock.wall()
        if plan.expires_at is not None and plan.expires_at <= now:
            await self._executor.expire(job)
            return None
        await self._executor.execute(job, plan)
        due = [each for each in (plan.expires_at, plan.check_at) if each is not None]
        return RequeueAfter(max((min(due) - now).total_seconds(), 0.0)) if due else None

    def _plan(self, job: JsonObject) -> ChildPlan | None:
        """The plan of a job; None after an event if its spec is malformed."""
        children = [child for kind in self._children for child in self._children_of(job, kind)]
        try:
            self._report_ignored(job)
            plan = self._stand_in.plan(job, children, self._client.clock.wall())
            return replace(plan, creates=list(islice(plan.creates, MOST_CREATES)))
        except _BAD_SPEC as error:
            what = f"the spec is malformed, so that no pods are created: {type(error).__name__}: {error}"
            self._executor.record(job, EventToRecord("Warning", "InvalidSpec", what))
            log.info("%s %s: %s", self._stand_in.resource.kind, metadata(job).get("name"), what)
            return None

    def _children_of(self, job: JsonObject, kind: str) -> Iterator[JsonObject]:
        """The objects of a kind that belong to a job, by name."""
        found = self._children[kind].find(self._stand_in.resource.kind, _key(job))
        for child in sorted(found, key=lambda each: str(each["metadata"]["name"])):
            if self._stand_in.owns(child, job):
                yield {"kind": kind, **child}

    def _is_managed_elsewhere(self, job: JsonObject) -> bool:
        """Whether a field names another controller."""
        field = self._stand_in.framework.managed_by
        named = value_at(job, field.path) if field is not None else None
        return field is not None and named not in (None, "", field.native)

    def _report_ignored(self, job: JsonObject) -> None:
        """Record a Warning event for fields without an effect, once for each generation."""
        head = metadata(job)
        if self._reported.get(head["uid"]) == head.get("generation"):
            return
        self._reported[head["uid"]] = head.get("generation", 0)
        found = sorted(unsupported_fields(job.get("spec") or {}, self._stand_in.spec))
        if found:
            more = f" and {len(found) - LARGEST} more" if len(found) > LARGEST else ""
            what = f"the stand-in for the {self._stand_in.operator} ignores {', '.join(found[:LARGEST])}{more}"
            self._executor.record(job, EventToRecord("Warning", "UnsupportedField", what))

    def _watched(self, informers: SharedInformerFactory, kind: ChildKind) -> Indexer[JsonObject]:
        informer = informers.of(kind.resource, ListScope(labels=kind.labels))
        informer.index(self._stand_in.resource.kind, self._job_of)
        informer.subscribe(self._on_child)
        return informer.cache

    def _on_job(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self._queue.add(_key(new))
        elif old is not None:
            self._reported.pop(metadata(old).get("uid", ""), None)

    def _on_child(self, old: JsonObject | None, new: JsonObject | None) -> None:
        for child in (old, new):
            for key in self._job_of(child) if child is not None else ():
                self._queue.add(key)

    def _job_of(self, child: JsonObject) -> tuple[ObjectKey, ...]:
        key = self._stand_in.owner(child)
        return (key,) if key is not None else ()


def _key(obj: JsonObject) -> ObjectKey:
    head = metadata(obj)
    return ObjectKey(head.get("namespace", ""), head.get("name", ""))
