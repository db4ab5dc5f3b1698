"""Chart templates for declared job frameworks: a loop over `frameworks` around the objects of one of them.

As in `chart`, the objects are rendered with placeholders, so that chart and manifests cannot differ.
"""

from dataclasses import replace
from typing import Final

from kohort.install import workload
from kohort.install.manifests import manager_endpoint, manager_roles
from kohort.install.options import Options
from kohort.install.roles import framework_roles
from kohort.install.text import to_documents, to_yaml
from kohort.install.variants import if_block
from kohort.webhooks.configurations import webhooks
from kohort.webhooks.jobs import framework_registrations
from kohort.webhooks.registrations import WebhookType, acting

VALUE: Final = ".Values.frameworks"
_GROUP, _VERSION, _KIND, _PLURAL = (
    "chart-stand-in-group",
    "chart-stand-in-version",
    "ChartStandIn",
    "chart-stand-in-kinds",
)
_DECLARATION: Final = f"""\
name: chart-stand-in-framework
gvk: {_GROUP}/{_VERSION}/{_KIND}
plural: {_PLURAL}
suspend: spec.suspend
podsets: [{{name: main, template: spec.template}}]
"""
_VARIABLES: Final = """\
{{- $gvk := splitList "/" $declared.gvk }}
{{- $kind := lower (last $gvk) }}
{{- $plural := default (printf "%ss" $kind) $declared.plural }}
"""
_EXPRESSIONS: Final = {
    f"-{_GROUP}-": '-{{ replace "." "-" (first $gvk) }}-',  # in paths
    _GROUP: "{{ first $gvk }}",
    _VERSION: "{{ index $gvk 1 }}",
    _KIND.lower(): "{{ $kind }}",
    _PLURAL: "{{ $plural }}",
}


def declared_options(options: Options) -> Options:
    """The options with one declared framework of placeholders."""
    return replace(options, declarations={"declaration": _DECLARATION})


def framework_rbac(options: Options) -> str:
    """The manager's role for declared frameworks, and roles for users."""
    role, binding = manager_roles(declared_options(options))
    head, _, rules = to_documents([role]).partition("rules:\n")
    users = to_documents(framework_roles(declared_options(options).declared))
    return if_block(VALUE, head + "rules:\n" + _each(rules) + to_documents([binding]) + _each(users))


def framework_webhooks(act: WebhookType, options: Options) -> str:
    """The entries of a webhook configuration for declared frameworks."""
    registrations = acting(framework_registrations(declared_options(options).declared), act)
    return _each(to_yaml(webhooks(registrations, manager_endpoint(options))))


def framework_declarations(options: Options) -> str:
    """The ConfigMap with the declarations."""
    (found,) = workload.declarations(declared_options(options))
    head, _, _ = to_documents([found]).partition("\ndata:\n")
    file = '  {{ replace "/" "-" $declared.name }}.yaml: |\n    {{- toYaml $declared | nindent 4 }}\n'
    return if_block(VALUE, head + "\ndata:\n" + _loop(file))


def _each(text: str) -> str:
    """A loop whose body has the names of one framework instead of the placeholders."""
    for stand_in, expression in _EXPRESSIONS.items():
        text = text.replace(stand_in, expression)
    return _loop(_VARIABLES + text)


def _loop(body: str) -> str:
    return f"{{{{- range $declared := {VALUE} }}}}\n{body}{{{{- end }}}}\n"
