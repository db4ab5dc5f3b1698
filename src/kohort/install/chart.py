"""The Helm chart, made from the very objects that `kohort install` prints.

Those are rendered with stand-ins for what a user may choose, and each stand-in becomes a template expression. So the
chart can't say anything else than the manifests, and needs only the simplest of templates.
"""

from collections.abc import Iterable, Mapping
from textwrap import indent

from kohort import __version__
from kohort.api.codec import Json
from kohort.install import workload
from kohort.install.manifests import (
    api_services,
    custom_definitions,
    rbac,
    reached,
    running,
    webhook_configuration,
)
from kohort.install.options import Options, frameworks_of, usual_document
from kohort.install.text import to_documents, to_yaml
from kohort.jobs.builtin import built_in_frameworks
from kohort.webhooks.configurations import webhooks
from kohort.webhooks.jobs import framework_registrations
from kohort.webhooks.registrations import KUEUE, Act, Registration, acting

_NAMESPACE, _IMAGE, _REPLICAS = "chart-stand-in-namespace", "chart-stand-in-image", 7654321
_FRAMEWORKS = ".Values.managerConfig.integrations.frameworks"
_EXPRESSIONS = {
    _NAMESPACE: "{{ .Release.Namespace }}",
    _IMAGE: "{{ .Values.image }}",
    str(_REPLICAS): "{{ .Values.replicas }}",
}
_STAND_IN = Options(_NAMESPACE, _IMAGE, _REPLICAS)
_MADE = "# Made by `kohort install --chart`; change it there.\n"
_VALUES = """\
# The manager's image.
image: {image}
# How many managers run; one leads, the others take over.
replicas: {replicas}
# Whether a ServiceMonitor for the Prometheus operator is installed.
serviceMonitor: false
# The manager's Configuration; its ports and the names of its certificates stay as they are here.
managerConfig:
"""
_IGNORED = "*.md\n"


def chart_files() -> dict[str, str]:
    """The files of the chart, by path."""
    return {
        "Chart.yaml": to_yaml(_chart()),
        "values.yaml": _values(),
        ".helmignore": _IGNORED,
        "templates/definitions.yaml": _template(custom_definitions(_STAND_IN)),
        "templates/rbac.yaml": _template(rbac(_STAND_IN)),
        "templates/manager.yaml": _manager(),
        "templates/webhooks.yaml": _MADE + "".join(_webhooks(act) for act in Act),
        "templates/visibility.yaml": _template(api_services(_STAND_IN)),
        "templates/monitoring.yaml": _monitoring(),
    }


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


def _values() -> str:
    usual = Options()
    head = _VALUES.format(image=usual.image, replicas=usual.replicas)
    return head + indent(to_yaml(usual_document()), "  ")


def _template(objects: Iterable[Json]) -> str:
    return _MADE + _templated(to_documents(list(objects)))


def _templated(text: str) -> str:
    for stand_in, expression in _EXPRESSIONS.items():
        text = text.replace(stand_in, expression)
    return text


def _manager() -> str:
    written = workload.config_map(_STAND_IN)["data"][workload.CONFIG_FILE]
    config = "{{ toYaml .Values.managerConfig | indent 4 }}\n"
    return _template(running(_STAND_IN)).replace(indent(written, "    "), config)


def _monitoring() -> str:
    return _MADE + _when(".Values.serviceMonitor", _templated(to_documents([workload.service_monitor(_STAND_IN)])))


def _webhooks(act: Act) -> str:
    """A configuration whose entries for jobs are there with their frameworks."""
    bare = {**webhook_configuration(act, _STAND_IN), "webhooks": None}
    head = to_documents([bare]).replace("webhooks: null\n", "webhooks:\n")
    registrations = (*KUEUE, *framework_registrations(built_in_frameworks()))
    return _templated(head) + "".join(_entry(each) for each in acting(registrations, act))


def _entry(registration: Registration) -> str:
    text = _templated(to_yaml(webhooks([registration], reached(_STAND_IN))))
    return _when(_condition(registration.framework), text) if registration.framework else text


def _condition(framework: str) -> str:
    """Whether a framework, or one that implies it, is enabled."""
    names = [each.name for each in built_in_frameworks() if _brings(each.name, framework)]
    return " ".join(["or", *(f'(has "{name}" {_FRAMEWORKS})' for name in names)])


def _brings(name: str, framework: str) -> bool:
    return framework in {each.name for each in frameworks_of([name])}


def _when(condition: str, text: str) -> str:
    return f"{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"
