"""The Helm chart, made from the very objects that `kohort install` prints.

Those are rendered with stand-ins for what a user may choose, and each stand-in becomes a template expression; where a
choice changes lines, both renderings are merged. So the chart can't say anything else than the manifests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kohort import __version__
from kohort.api.codec import Json
from kohort.install import workload
from kohort.install.certificates import issued
from kohort.install.manifests import (
    api_services,
    custom_definitions,
    rbac,
    reached,
    running,
    webhook_configuration,
)
from kohort.install.options import Issuer, Options, frameworks_of
from kohort.install.text import to_yaml
from kohort.install.values import usual_values, values_schema
from kohort.install.variants import merged, when
from kohort.jobs.builtin import built_in_frameworks
from kohort.webhooks.configurations import webhooks
from kohort.webhooks.jobs import framework_registrations
from kohort.webhooks.registrations import KUEUE, UNSUPPORTED_REGISTRATIONS, AnyRegistration, WebhookType, acting

_NAMESPACE, _IMAGE, _REPLICAS = "chart-stand-in-namespace", "chart-stand-in-image", 7654321
_ISSUER = Issuer("chart-stand-in-issuer", "chart-stand-in-kind")
_SERVED = "chart-stand-in-served"
_PRIORITY_CLASS = "chart-stand-in-priority-class"
_API_SERVERS, _SCRAPERS = "chart-stand-in-api-servers", "chart-stand-in-scrapers"
_KEPT = "chart-stand-in-kept"
_CERT_MANAGER = ".Values.certManager.enable"
_MOUNTED, _FRAMEWORKS = "$mounted", "$frameworks"
_VARIABLES = {
    # Certificates are somebody else's.
    _MOUNTED: f'or {_CERT_MANAGER} (not (dig "internalCertManagement" "enable" true .Values.managerConfig))',
    _FRAMEWORKS: 'dig "integrations" "frameworks" list .Values.managerConfig | default (list "batch/job")',
}
_GIVEN, _CHANGED = "chart-stand-in-given", "chart-stand-in-changed"
_WITHOUT_OWN = '(mergeOverwrite (deepCopy .Values.managerConfig) (dict "internalCertManagement" (dict "enable" false)))'
_EXPRESSIONS = {
    _NAMESPACE: "{{ .Release.Namespace }}",
    _IMAGE: "{{ .Values.image }}",
    str(_REPLICAS): "{{ .Values.replicas }}",
    _ISSUER.name: "{{ .Values.certManager.issuer.name }}",
    _ISSUER.kind: "{{ .Values.certManager.issuer.kind }}",
    _SERVED: "{{ .Values.serveV1beta1 }}",
    _PRIORITY_CLASS: "{{ .Values.priorityClassName }}",
    _API_SERVERS: "{{ toJson .Values.networkPolicy.apiServers }}",
    _SCRAPERS: "{{ toJson .Values.networkPolicy.scrapers }}",
    _KEPT: '{{ ternary "keep" "delete" .Values.crds.keep }}',
    _GIVEN: "{{- toYaml .Values.managerConfig | nindent 4 }}",
    _CHANGED: f"{{{{- toYaml {_WITHOUT_OWN} | nindent 4 }}}}",
}
_STAND_IN = Options(
    _NAMESPACE,
    _IMAGE,
    _REPLICAS,
    serve_v1beta1=_SERVED,
    priority_class=_PRIORITY_CLASS,
    api_servers=_API_SERVERS,
    scrapers=_SCRAPERS,
)
_BY_CERT_MANAGER = replace(_STAND_IN, issuer=Issuer())
_MADE = "# Made by `kohort install --chart`; change it there.\n"
_NOTES = """\
Kohort runs in namespace {{ .Release.Namespace }}.
{{- if .Values.crds.keep }}
`helm uninstall` leaves the CustomResourceDefinitions in place, and with them all queues and Workloads.
To delete these too: kubectl get crd -o name | grep '[.]kueue[.]x-k8s[.]io$' | xargs kubectl delete
{{- else }}
`helm uninstall` deletes the CustomResourceDefinitions, and with them ALL queues and Workloads (crds.keep=false).
{{- end }}
{{- if not .Values.networkPolicy.apiServers }}
The webhook port can be reached from everywhere in the cluster: set networkPolicy.apiServers.
{{- end }}
"""
_IGNORED = "*.md\n"


def chart_files() -> dict[str, str]:
    """The files of the chart, by path."""
    return {
        "Chart.yaml": to_yaml(_chart()),
        "values.yaml": usual_values(),
        "values.schema.json": values_schema(),
        ".helmignore": _IGNORED,
        "templates/NOTES.txt": _NOTES,
        "templates/definitions.yaml": _with_cert_manager(_kept_definitions),
        "templates/rbac.yaml": _MADE + _let(_MOUNTED) + _merged(_MOUNTED, rbac(_BY_CERT_MANAGER), rbac(_STAND_IN)),
        "templates/certificates.yaml": _certificates(),
        "templates/manager.yaml": _manager(),
        "templates/webhooks.yaml": _MADE + _let(_FRAMEWORKS) + "".join(_webhooks(act) for act in WebhookType),
        "templates/visibility.yaml": _with_cert_manager(api_services),
        "templates/monitoring.yaml": _monitoring(),
    }


def _kept_definitions(options: Options) -> list[Json]:
    """The kinds, which Helm leaves in place: all queues and Workloads would end with them."""
    found = custom_definitions(options)
    return [_annotated(each, {"helm.sh/resource-policy": _KEPT}) for each in found]


def _annotated(found: Json, annotations: Json) -> Json:
    metadata = found["metadata"]
    return {**found, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **annotations}}}


def _chart() -> Mapping[str, Json]:
    return {
        "apiVersion": "v2",
        "name": "kohort",
        "description": "Queues batch and AI jobs on Kubernetes: quota, borrowing, fair share, topology, preemption",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.30.0-0",
    }


def _let(variable: str) -> str:
    return f"{{{{- {variable} := {_VARIABLES[variable]} }}}}\n"


def _templated(text: str) -> str:
    for stand_in, expression in _EXPRESSIONS.items():
        text = text.replace(stand_in, expression)
    return text


def _merged(condition: str, found: Sequence[Json], otherwise: Sequence[Json]) -> str:
    return _templated(merged(condition, found, otherwise))


def _with_cert_manager(made: Callable[[Options], list[Json]]) -> str:
    return _MADE + _merged(_CERT_MANAGER, made(_BY_CERT_MANAGER), made(_STAND_IN))


def _certificates() -> str:
    named = issued(replace(_STAND_IN, issuer=_ISSUER))
    return _MADE + when(_CERT_MANAGER, _merged(".Values.certManager.issuer.name", named, issued(_BY_CERT_MANAGER)))


def _manager() -> str:
    theirs = [_configured(each, _CHANGED) for each in running(_BY_CERT_MANAGER)]
    return (
        _MADE + _let(_MOUNTED) + _merged(_MOUNTED, theirs, [_configured(each, _GIVEN) for each in running(_STAND_IN)])
    )


def _configured(found: Json, stand_in: str) -> Json:
    """The same object; a ConfigMap has a stand-in for its text, on a line of its own."""
    return {**found, "data": {workload.CONFIG_FILE: f"{stand_in}\n"}} if found["kind"] == "ConfigMap" else found


def _monitoring() -> str:
    ours, theirs = ([workload.service_monitor(each)] for each in (_STAND_IN, _BY_CERT_MANAGER))
    return _MADE + when(".Values.serviceMonitor", _merged(_CERT_MANAGER, theirs, ours))


def _webhooks(act: WebhookType) -> str:
    """A configuration whose entries for jobs are there with their frameworks."""
    ours, theirs = (_without_entries(act, each) for each in (_STAND_IN, _BY_CERT_MANAGER))
    jobs = framework_registrations(built_in_frameworks())
    registrations: tuple[AnyRegistration, ...] = (*KUEUE, *jobs, *UNSUPPORTED_REGISTRATIONS)
    head = _merged(_CERT_MANAGER, [theirs], [ours]).replace("webhooks: null\n", "webhooks:\n")
    return head + "".join(_entry(each) for each in acting(registrations, act))


def _without_entries(act: WebhookType, options: Options) -> Json:
    return {**webhook_configuration(act, options), "webhooks": None}


def _entry(registration: AnyRegistration) -> str:
    text = _templated(to_yaml(webhooks([registration], reached(_STAND_IN))))
    return when(_condition(registration.framework), text) if registration.framework else text


def _condition(framework: str) -> str:
    """Whether a framework, or one that implies it, is enabled."""
    names = [each.name for each in built_in_frameworks() if _brings(each.name, framework)]
    return " ".join(["or", *(f'(has "{name}" {_FRAMEWORKS})' for name in names)])


def _brings(name: str, framework: str) -> bool:
    return framework in {each.name for each in frameworks_of([name])}
