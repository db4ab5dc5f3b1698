"""Counts device claims of pending Workloads with the manager's functions (API-124).

Claim templates are read only if a Workload references one. Workloads with uncountable claims are not added to the
engine, as in the manager.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.devices.claims import (
    TEMPLATES,
    ClaimTemplateUnavailableError,
    DeviceResources,
    Spec,
    UncountableError,
    are_counted,
    claims_problem,
    count,
    has_claims,
    rejection,
    templates_of,
)
from kohort.engine.engine import Engine
from kohort.engine.events import DeviceClaimsCounted, ObjectUpserted
from kohort.engine.lifecycle.conditions import is_finished, is_on_hold, is_reserved
from kohort.engine.records import PodSetDevices
from kohort.insight.listing import KindListing
from kohort.insight.manager_settings import ObservedSettings


def name_templates(workloads: Iterable[Workload], rules: ObservedSettings) -> bool:
    """Whether a pending Workload has claims that are counted from templates."""
    return any(_is_pending(each) and has_claims(each) and are_counted(each, rules.gates) for each in workloads)


class DeviceClaims:
    """Counts claims from the templates of a snapshot."""

    def __init__(self, rules: ObservedSettings, templates: KindListing | None) -> None:
        self._gates = rules.gates
        self._mapped = DeviceResources.of(rules.configuration)
        self._templates = templates or KindListing()

    def apply(self, engine: Engine, workload: Workload, now: datetime) -> None:
        """Add a Workload with its device claims to the engine, unless they cannot be counted."""
        try:
            devices = self.devices_of(workload)
        except UncountableError:
            return
        engine.apply(ObjectUpserted(workload), now)
        if devices:
            engine.apply(
                DeviceClaimsCounted(ObjectKey(workload.metadata.namespace, workload.metadata.name), devices), now
            )

    def problem_of(self, workload: Workload) -> str:
        """Why the claims of a Workload cannot be counted; empty if they can."""
        try:
            self.devices_of(workload)
        except UncountableError as error:
            return str(error)
        return ""

    def devices_of(self, workload: Workload) -> tuple[PodSetDevices, ...]:
        """Device claims per pod of each pod set of a pending Workload; raises UncountableError."""
        if not _is_pending(workload) or not has_claims(workload):
            return ()
        if not are_counted(workload, self._gates):
            if problem := rejection(workload, self._gates):
                raise UncountableError(problem)
            return ()
        try:
            counted = count(workload, self._specs(workload), self._mapped)
        except ClaimTemplateUnavailableError:
            if self._templates.unseen is None:
                raise
            # The manager may have more permissions: its condition has the problem.
            if problem := claims_problem(workload, self._gates):
                raise UncountableError(problem) from None
            return ()
        return tuple((name, tuple(sorted(amounts.items()))) for name, amounts in counted.items())

    def templates_unavailable(self, workload: Workload) -> str:
        """Why the templates of a pending Workload cannot be listed; empty if they can."""
        unseen = self._templates.unseen
        names_some = unseen is not None and _is_pending(workload) and has_claims(workload)
        return unseen.why if names_some and unseen is not None and are_counted(workload, self._gates) else ""

    def _specs(self, workload: Workload) -> Mapping[str, Spec | str]:
        return {name: self._spec(workload.metadata.namespace, name) for name in templates_of(workload)}

    def _spec(self, namespace: str, name: str) -> Spec | str:
        found = self._templates.objects.get(ObjectKey(namespace, name))
        if found is None:
            unseen = self._templates.unseen
            return unseen.why if unseen is not None else f'{TEMPLATES.plural}.{TEMPLATES.group} "{name}" not found'
        return dict((found.get("spec") or {}).get("spec") or {})


def _is_pending(workload: Workload) -> bool:
    return workload.spec.active and not (is_reserved(workload) or is_finished(workload) or is_on_hold(workload))
