"""Controllers beside the reconciler of a framework, for what does not go job by job (JOB-92).

A planner looks at objects of one kind and says what to do, as a pass over a job does; `running` carries it out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.api.resource import Resource
from kohort.jobs.contract import Watch
from kohort.jobs.effects import Object
from kohort.jobs.passes import PassReads, Plan

PlanObject = Callable[[Object, Object | None, PassReads], Plan]
"""From an object, and the owner that is queued in its place, to what is to be done about it; may raise JobError."""


@dataclass(frozen=True, slots=True)
class Planner:
    """A controller of its own: which objects it looks at, when, and what it makes of them."""

    name: str
    """Unique name, for queues, metrics and events."""
    resource: Resource
    concerns: Callable[[Object], bool]
    """Whether an object of the kind is looked at when it comes or changes."""
    plan: PlanObject
    watches: tuple[Watch, ...] = ()
    """Other kinds whose events concern objects of this one."""
    follows_workloads: bool = False
    """Whether an object is looked at again when a Workload that it owns changes."""
