"""Everything that is installed, in the order in which it is applied."""

from collections.abc import Iterator, Sequence

from kohort.api.codec import Json
from kohort.api.crds import WebhookService, definitions
from kohort.install import workload
from kohort.install.certificates import injected, issued
from kohort.install.options import Extra, Options, frameworks_of
from kohort.install.permissions import (
    AT_HOME,
    MANAGER,
    OWN_CERTIFICATES,
    VISIBILITY_GROUP,
    VISIBILITY_VERSIONS,
    Permission,
)
from kohort.install.roles import PREFIX, RBAC, user_roles
from kohort.install.workload import ACCOUNT, head, labelled
from kohort.webhooks.configurations import InCluster, ManagerEndpoint, configuration
from kohort.webhooks.jobs import framework_registrations
from kohort.webhooks.registrations import KUEUE, UNSUPPORTED_REGISTRATIONS, AnyRegistration, WebhookType
from kohort.webhooks.startup import VISIBILITY_SERVICE

_SYSTEM = "kube-system"


def manifests(options: Options) -> list[Json]:
    """All objects of an installation."""
    return [
        namespace(options),
        *custom_definitions(options),
        *rbac(options),
        *issued(options),
        *running(options),
        *(webhook_configuration(act, options) for act in WebhookType),
        *api_services(options),
        *([workload.service_monitor(options)] if Extra.SERVICE_MONITOR in options.extras else []),
    ]


def namespace(options: Options) -> Json:
    """Where the manager lives."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace, "labels": _NAMESPACE}}


_NAMESPACE = {**labelled("namespace"), "pod-security.kubernetes.io/enforce": "restricted"}


def custom_definitions(options: Options) -> list[Json]:
    """The kinds, converted by the manager's webhook."""
    found = definitions(WebhookService(options.namespace, options.service), older=options.serve_v1beta1)
    return [injected(each, options) if each["spec"]["conversion"]["strategy"] == "Webhook" else each for each in found]


def rbac(options: Options) -> list[Json]:
    """Who the manager is, what it may do, and roles for people."""
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": options.namespace}
    return [
        head("v1", "ServiceAccount", ACCOUNT, options),
        *_granted("Cluster", "manager", _needed(MANAGER, options), account),
        *_granted("", "manager-home", _needed(AT_HOME, options), account),
        _reading_front_proxy(account),
        *user_roles(),
    ]


def _needed(permissions: Sequence[Permission], options: Options) -> list[Permission]:
    """Those of some permissions that the manager has a use for."""
    is_idle = () if options.configuration.internal_cert_management.enable else OWN_CERTIFICATES
    return [each for each in permissions if each not in is_idle]


def _granted(scope: str, name: str, permissions: Sequence[Permission], account: Json) -> Iterator[Json]:
    """A role and its binding, in the whole cluster or in the account's namespace."""
    place = {} if scope else {"namespace": account["namespace"]}
    role = {"name": f"{PREFIX}{name}-role", **place, "labels": labelled("rbac")}
    bound = {"name": f"{PREFIX}{name}-rolebinding", **place, "labels": labelled("rbac")}
    reference = {"apiGroup": RBAC, "kind": f"{scope}Role", "name": role["name"]}
    rules = [each.rule() for each in permissions]
    yield {"apiVersion": f"{RBAC}/v1", "kind": f"{scope}Role", "metadata": role, "rules": rules}
    yield _binding(f"{scope}RoleBinding", bound, reference, account)


def _binding(kind: str, metadata: Json, reference: Json, account: Json) -> Json:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [account],
    }


def _reading_front_proxy(account: Json) -> Json:
    """What an aggregated API needs to know its front proxy by."""
    metadata = {"name": f"{PREFIX}visibility-server-auth-reader", "namespace": _SYSTEM, "labels": labelled("rbac")}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "extension-apiserver-authentication-reader"}
    return _binding("RoleBinding", metadata, reference, account)


def running(options: Options) -> list[Json]:
    """The manager itself."""
    certificates = options.configuration.internal_cert_management
    return [
        workload.config_map(options),
        *([workload.certificate_secret(options)] if certificates.enable else []),
        *workload.services(options),
        workload.deployment(options),
        workload.disruption_budget(options),
        workload.network_policy(options),
    ]


def registrations(options: Options) -> tuple[AnyRegistration, ...]:
    """The webhooks of Kueue's kinds and of the frameworks that are enabled, and the one for what is not supported."""
    names = options.configuration.integrations.frameworks
    return (*KUEUE, *framework_registrations(frameworks_of(names)), *UNSUPPORTED_REGISTRATIONS)


def reached(options: Options) -> ManagerEndpoint:
    """How API servers know the manager."""
    place = InCluster(options.namespace, options.service)
    return ManagerEndpoint(place, options.namespace, f"system:serviceaccount:{options.namespace}:{ACCOUNT}")


def webhook_configuration(act: WebhookType, options: Options) -> Json:
    """One of the two webhook configurations; the manager or cert-manager fills in whom to trust."""
    found = configuration(act, registrations(options), reached(options))
    return injected({**found, "metadata": {**found["metadata"], "labels": labelled("webhook")}}, options)


def api_services(options: Options) -> list[Json]:
    """The visibility API, served by the manager through aggregation (API-99)."""
    service = {"namespace": options.namespace, "name": VISIBILITY_SERVICE, "port": 443}
    services = [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{VISIBILITY_GROUP}", "labels": labelled("visibility")},
            "spec": {
                "group": VISIBILITY_GROUP,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": service,
            },
        }
        for version in VISIBILITY_VERSIONS
    ]
    return [injected(each, options) for each in services]
