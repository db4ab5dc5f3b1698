"""The contract of an admission check: a class that evaluates Workloads with reserved quota (MK-1 to MK-16).

`evaluate` returns the state; the reconciler writes it, and only while the Workload may be checked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import ClassVar, Final

from kohort.api.kueue.v1beta2 import AdmissionCheck, Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, PodSetUpdate
from kohort.api.meta import ObjectKey
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache
from kohort.engine.lifecycle.conditions import ConditionState, condition_true
from kohort.engine.lifecycle.events import WorkloadEvent
from kohort.kube.client import Client
from kohort.kube.informer import Informer, SharedInformerFactory

ACTIVE: Final = condition_true("Active", "The admission check is active")
"""Condition Active of a check that is ready to evaluate Workloads."""


class CheckState(Enum):
    """State of a check for a Workload (MK-6)."""

    PENDING = "Pending"
    """Undecided: the Workload keeps its quota and waits."""
    READY = "Ready"
    """Passed."""
    RETRY = "Retry"
    """Not now: the Workload is evicted, which releases its quota, and requeued."""
    REJECTED = "Rejected"
    """Never: the Workload is deactivated."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of an evaluation."""

    state: CheckState
    message: str = ""
    pod_set_updates: tuple[PodSetUpdate, ...] = ()
    """With Ready: additions to the pods at their start (MK-15)."""
    requeue_after: timedelta | None = None
    """With Retry: delay before the Workload is requeued (MK-13)."""
    recheck_after: timedelta | None = None
    """When to evaluate again without an event."""


@dataclass(frozen=True, slots=True)
class CheckedWorkload:
    """A Workload with reserved quota, and one of its checks."""

    workload: Workload
    check: AdmissionCheck
    entry: AdmissionCheckState
    """The state as written before."""
    now: datetime

    @property
    def retries(self) -> int:
        """The number of retries that this check has requested."""
        return self.entry.retry_count or 0


@dataclass(frozen=True, slots=True)
class CheckEnvironment:
    """What a check may use."""

    client: Client
    informers: SharedInformerFactory
    """Watches of other kinds; a check subscribes in `start`."""
    workloads: WorkloadAssumeCache
    """All Workloads, with own writes."""
    checks: Informer[AdmissionCheck]
    enqueue: Callable[[ObjectKey], None]
    """Evaluates a Workload again."""
    enqueue_check: Callable[[str], None]
    """Updates condition Active of an AdmissionCheck again, and evaluates its Workloads."""
    record: Callable[[Workload, WorkloadEvent], None]
    """Records an event about a Workload."""


class AdmissionCheckController(ABC):
    """Evaluates the AdmissionChecks with one `controllerName`."""

    controller_name: ClassVar[str]
    """The value of `spec.controllerName`; a domain of its own and a name (MK-1)."""

    def start(self, environment: CheckEnvironment) -> None:  # noqa: B027  optional
        """Subscribe to other kinds; called once, before the first evaluation."""

    @property
    def is_ready(self) -> bool:
        """Whether its caches are synced; before, nothing is evaluated or written."""
        return True

    def active(self, check: AdmissionCheck) -> ConditionState:
        """Condition Active of an AdmissionCheck: False if its parameters cannot be used."""
        return ACTIVE

    @abstractmethod
    async def evaluate(self, subject: CheckedWorkload) -> CheckResult | None:
        """The state of a check for a Workload that holds quota; None leaves it as it is.

        It is called for each change of the Workload, may be called at any time, and may perform requests. An exception
        is logged and the evaluation repeated with backoff.
        """

    async def release(self, workload: Workload) -> None:  # noqa: B027  optional
        """Clean up for a Workload of this check that is finished or evicted; may be called repeatedly."""
