"""Declared kinds that are not queued themselves: propagators of labels, and kinds that lead to owners (JOB-233)."""

from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.resource import Resource
from kohort.jobs.contract import DeclaredKind
from kohort.jobs.declarations import PropagatorDeclaration, TransitDeclaration, split_path
from kohort.jobs.defaulting.webhook_only import Propagator, WebhookOnly


class DeclaredPropagator(DeclaredKind, Propagator):
    """A kind whose labels the objects that it creates get; made by `propagator_of`."""


class DeclaredTransit(DeclaredKind, WebhookOnly):
    """A kind through which the search of ancestors leads; made by `transit_of`."""

    is_transit: ClassVar[bool] = True
    has_webhooks: ClassVar[bool] = False

    def claims(self, obj: JsonObject) -> bool:
        """Never: its owner does."""
        return False


def propagator_of(declared: PropagatorDeclaration, resource: Resource) -> DeclaredPropagator:
    """The framework of a propagator."""
    facts = {
        "name": declared.name,
        "resource": resource,
        "declaration": declared,
        "labels_path": split_path(declared.propagate.labels),
        "defaults_on_update": declared.propagate.mutable,
    }
    made: type[DeclaredPropagator] = type(resource.kind, (DeclaredPropagator,), facts)
    return made()


def transit_of(declared: TransitDeclaration, resource: Resource) -> DeclaredTransit:
    """The framework of a transit kind."""
    facts = {"name": declared.name, "resource": resource, "declaration": declared}
    made: type[DeclaredTransit] = type(resource.kind, (DeclaredTransit,), facts)
    return made()
