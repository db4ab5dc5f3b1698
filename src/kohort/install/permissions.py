"""The manager's permissions: the one list from which its roles are generated (API-151).

Kohort patches where it manages only a part of an object; `update` is included so that Kueue's manager can run with the
same roles.
"""

from collections.abc import Iterable

from kohort.api.kinds import all_kinds
from kohort.api.kueue.conversion import converts_by_webhook
from kohort.api.kueue.group import GROUP
from kohort.api.permissions import FOLLOW, READ, WRITE, Permission
from kohort.jobs.contract import Framework
from kohort.webhooks.configurations import NAMES
from kohort.webhooks.registrations import WebhookType

VISIBILITY_GROUP = "visibility.kueue.x-k8s.io"
VISIBILITY_VERSIONS = ("v1beta1", "v1beta2")


def _definitions() -> tuple[str, ...]:
    kinds = {kind.info.resource for kind in all_kinds(GROUP) if kind.info.is_storage}
    return tuple(sorted(f"{each.plural}.{each.group}" for each in kinds if converts_by_webhook(each.kind)))


_READ_ONLY = (
    "cohorts",
    "localqueues",
    "multikueueclusters",
    "multikueueconfigs",
    "provisioningrequestconfigs",
    "workloadpriorityclasses",
)
_WITH_FINALIZERS = ("admissionchecks", "clusterqueues", "resourceflavors", "topologies")
_WITH_STATUS = ("admissionchecks", "clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")

QUEUES = (
    Permission(GROUP, ("workloads",), ("create", "delete", *READ, *WRITE)),
    Permission(GROUP, _WITH_FINALIZERS, (*READ, *WRITE)),
    Permission(GROUP, _READ_ONLY, READ),
    Permission(GROUP, tuple(f"{each}/status" for each in _WITH_STATUS), ("get", *WRITE)),
    Permission(GROUP, tuple(f"{each}/finalizers" for each in (*_WITH_FINALIZERS, "workloads")), ("update",)),
)
"""Kueue's own kinds."""

RELATED_RESOURCES = (
    Permission("", ("limitranges", "namespaces", "nodes"), READ),
    Permission("resource.k8s.io", ("resourceclaimtemplates",), ("get",)),
    Permission("node.k8s.io", ("runtimeclasses",), READ),
    Permission("scheduling.k8s.io", ("priorityclasses",), READ),
    Permission("apiextensions.k8s.io", ("customresourcedefinitions",), FOLLOW),
    Permission("", ("events",), ("create", *WRITE)),
    Permission("events.k8s.io", ("events",), ("create", "watch", *WRITE)),
)
"""Resources that affect requests of pods, node failures and which frameworks are on; events."""

PROVISIONING = (
    Permission("autoscaling.x-k8s.io", ("provisioningrequests",), ("create", "delete", *READ, *WRITE)),
    Permission("autoscaling.x-k8s.io", ("provisioningrequests/status",), ("get",)),
    Permission("", ("podtemplates",), ("create", "delete", *READ, *WRITE)),
)
"""Requests for nodes, and their pod templates (MK-21, MK-22)."""

CA_INJECTION = (
    Permission("admissionregistration.k8s.io", ("mutatingwebhookconfigurations",), FOLLOW),
    Permission("admissionregistration.k8s.io", ("validatingwebhookconfigurations",), FOLLOW),
    Permission("apiregistration.k8s.io", ("apiservices",), FOLLOW),
    Permission(
        "admissionregistration.k8s.io",
        ("mutatingwebhookconfigurations",),
        ("get", *WRITE),
        (NAMES[WebhookType.MUTATE],),
    ),
    Permission(
        "admissionregistration.k8s.io",
        ("validatingwebhookconfigurations",),
        ("get", *WRITE),
        (NAMES[WebhookType.VALIDATE],),
    ),
    Permission("apiextensions.k8s.io", ("customresourcedefinitions",), ("get", *WRITE), _definitions()),
    Permission(
        "apiregistration.k8s.io",
        ("apiservices",),
        ("get", *WRITE),
        tuple(f"{version}.{VISIBILITY_GROUP}" for version in VISIBILITY_VERSIONS),
    ),
)
"""CA bundles in webhook configurations, CRDs and APIServices."""

REVIEWS = (
    Permission("authentication.k8s.io", ("tokenreviews",), ("create",)),
    Permission("authorization.k8s.io", ("subjectaccessreviews",), ("create",)),
)
"""Authentication and authorization of requests for metrics and pending workloads."""


def manager_permissions(frameworks: Iterable[Framework]) -> tuple[Permission, ...]:
    """Cluster-wide permissions: the manager's own, and those that job frameworks declare."""
    jobs = dict.fromkeys(permission for framework in frameworks for permission in framework.permissions)
    return (*QUEUES, *jobs, *RELATED_RESOURCES, *PROVISIONING, *CA_INJECTION, *REVIEWS)


SECRETS = Permission("", ("secrets",), ("create", "get", "list", "update", "watch"))

IN_OWN_NAMESPACE = (
    SECRETS,
    Permission("", ("configmaps",), READ),
    Permission("coordination.k8s.io", ("leases",), ("create", "delete", *READ, *WRITE)),
)
"""Permissions in the manager's own namespace: its certificates, declared job frameworks, the leader election lease."""

OWN_CERTIFICATES = (*CA_INJECTION, SECRETS)
"""Required only with internal certificate management."""
