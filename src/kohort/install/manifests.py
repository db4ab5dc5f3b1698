"""All objects of an installation, in the order in which they are applied."""

from collections.abc import Iterator, Sequence

from kohort.api.codec import Json
from kohort.api.crds import WebhookService, definitions
from kohort.api.permissions import Permission
from kohort.install import workload
from kohort.install.certificates import cert_manager_objects, with_ca_injection
from kohort.install.options import OptionalManifest, Options
from kohort.install.permissions import (
    IN_OWN_NAMESPACE,
    OWN_CERTIFICATES,
    VISIBILITY_GROUP,
    VISIBILITY_VERSIONS,
    manager_permissions,
)
from kohort.install.roles import PREFIX, RBAC, user_roles
from kohort.install.workload import ACCOUNT, head, labels_for
from kohort.jobs.builtin import built_in_frameworks
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
        *cert_manager_objects(options),
        *manager_objects(options),
        *(webhook_configuration(act, options) for act in WebhookType),
        *api_services(options),
        *([workload.service_monitor(options)] if OptionalManifest.SERVICE_MONITOR in options.extras else []),
    ]


def namespace(options: Options) -> Json:
    """The namespace of the manager."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace, "labels": _NAMESPACE}}


_NAMESPACE = {**labels_for("namespace"), "pod-security.kubernetes.io/enforce": "restricted"}


def custom_definitions(options: Options) -> list[Json]:
    """The CustomResourceDefinitions, converted by the manager's webhook."""
    found = definitions(WebhookService(options.namespace, options.service), older=options.serve_v1beta1)
    return [
        with_ca_injection(each, options) if each["spec"]["conversion"]["strategy"] == "Webhook" else each
        for each in found
    ]


def rbac(options: Options) -> list[Json]:
    """The manager's ServiceAccount and roles, and roles for users."""
    account = manager_account(options)
    return [
        head("v1", "ServiceAccount", ACCOUNT, options),
        *_granted("Cluster", "manager", _required(manager_permissions(built_in_frameworks()), options), account),
        *manager_roles(options),
        *_granted("", "manager-home", _required(IN_OWN_NAMESPACE, options), account),
        _front_proxy_reader(account),
        *user_roles(options.frameworks),
    ]


def manager_account(options: Options) -> Json:
    """The manager as the subject of role bindings."""
    return {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": options.namespace}


def manager_roles(options: Options) -> list[Json]:
    """The manager's permissions on kinds of declared job frameworks (JOB-236)."""
    permissions = list(dict.fromkeys(each for framework in options.declared for each in framework.permissions))
    granted = _granted("Cluster", "manager-frameworks", permissions, manager_account(options))
    return list(granted) if permissions else []


def _required(permissions: Sequence[Permission], options: Options) -> list[Permission]:
    """The permissions that the manager requires with these options."""
    unused = () if options.configuration.internal_cert_management.enable else OWN_CERTIFICATES
    return [each for each in permissions if each not in unused]


def _granted(scope: str, name: str, permissions: Sequence[Permission], account: Json) -> Iterator[Json]:
    """A role and its binding, in the whole cluster or in the account's namespace."""
    place = {} if scope else {"namespace": account["namespace"]}
    role = {"name": f"{PREFIX}{name}-role", **place, "labels": labels_for("rbac")}
    bound = {"name": f"{PREFIX}{name}-rolebinding", **place, "labels": labels_for("rbac")}
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


def _front_proxy_reader(account: Json) -> Json:
    """Lets the manager read the front proxy's CA, as every aggregated API server must."""
    metadata = {"name": f"{PREFIX}visibility-server-auth-reader", "namespace": _SYSTEM, "labels": labels_for("rbac")}
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "extension-apiserver-authentication-reader"}
    return _binding("RoleBinding", metadata, reference, account)


def manager_objects(options: Options) -> list[Json]:
    """Configuration, declared frameworks, Services, Deployment and policies of the manager."""
    certificates = options.configuration.internal_cert_management
    return [
        workload.config_map(options),
        *workload.declarations(options),
        *([workload.certificate_secret(options)] if certificates.enable else []),
        *workload.services(options),
        workload.deployment(options),
        workload.disruption_budget(options),
        workload.network_policy(options),
    ]


def registrations(options: Options) -> tuple[AnyRegistration, ...]:
    """The webhooks of Kueue's kinds, of enabled frameworks, and of unsupported kinds."""
    return (*KUEUE, *framework_registrations(options.registry.active()), *UNSUPPORTED_REGISTRATIONS)


def manager_endpoint(options: Options) -> ManagerEndpoint:
    """The address and the identity of the manager, as API servers use them."""
    place = InCluster(options.namespace, options.service)
    return ManagerEndpoint(place, options.namespace, f"system:serviceaccount:{options.namespace}:{ACCOUNT}")


def webhook_configuration(act: WebhookType, options: Options) -> Json:
    """One of the two webhook configurations; the manager or cert-manager adds the CA bundle."""
    found = configuration(act, registrations(options), manager_endpoint(options))
    return with_ca_injection({**found, "metadata": {**found["metadata"], "labels": labels_for("webhook")}}, options)


def api_services(options: Options) -> list[Json]:
    """The visibility API, served by the manager through aggregation (API-99)."""
    service = {"namespace": options.namespace, "name": VISIBILITY_SERVICE, "port": 443}
    services = [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{VISIBILITY_GROUP}", "labels": labels_for("visibility")},
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
    return [with_ca_injection(each, options) for each in services]
