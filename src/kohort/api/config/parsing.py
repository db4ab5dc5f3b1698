"""Converts a plain JSON value to a validated v1beta2 Configuration (API-137).

Steps: determine the version; drop unknown fields; apply the defaults of that version; check types; convert; set
defaults that depend on other settings; validate. After an error of a type the rest is skipped; otherwise all errors are
returned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kohort.api.codec import Json, encode, from_json, to_json
from kohort.api.config import scalars, v1beta1, v1beta2
from kohort.api.config.common import DEFAULT_NAMESPACE, KIND
from kohort.api.config.conversion import from_v1beta1, ignored_settings
from kohort.api.config.defaults import EMPTY_IS_ABSENT, Way, complete, without_empty
from kohort.api.config.frameworks import KNOWN_FRAMEWORKS, KnownFramework
from kohort.api.config.v1beta2 import Configuration
from kohort.api.config.validation import configuration_errors
from kohort.api.errors import DecodeError
from kohort.api.fields import ROOT, ErrorKind, FieldError, Path, forbidden, invalid, not_supported, required
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate, ResolvedGates, from_settings, parse_flag
from kohort.api.schema import schema_of
from kohort.api.structural import default, plainly, prune, validate
from kohort.api.unsupported import Notice, configuration_notices, gate_notices

FEATURE_GATES_FLAG = Path("--feature-gates")
_UNREADABLE = (ErrorKind.TYPE_INVALID, ErrorKind.REQUIRED)
"""Kinds of errors that prevent decoding."""


@dataclass(frozen=True, slots=True)
class ParsingContext:
    """The environment of a configuration."""

    namespace: str = DEFAULT_NAMESPACE
    """The namespace of the manager, unless the configuration sets it."""
    frameworks: Mapping[str, KnownFramework] = field(default_factory=lambda: KNOWN_FRAMEWORKS)
    """The available job frameworks."""
    gate_flag: str = ""
    """The value of the --feature-gates flag."""
    compat: str = ""
    """The Kueue release whose gate defaults apply, one of `gates.COMPAT`; empty for this version's."""


USUAL_SURROUNDINGS = ParsingContext()


@dataclass(frozen=True, slots=True)
class ParsedConfiguration:
    """The result of parsing; configuration and gates are valid only without errors."""

    config: Configuration | None
    gates: FeatureGates
    errors: list[FieldError]
    warnings: list[str]
    unsupported: list[Notice] = field(default_factory=list)
    """Settings of features that this version of Kohort does not support."""

    @property
    def all_warnings(self) -> list[str]:
        """Warnings and unsupported settings, one line each."""
        return [*self.warnings, *map(str, self.unsupported)]


@dataclass(frozen=True, slots=True)
class _Version:
    struct: type
    always_there: tuple[str, ...]
    empty_is_absent: tuple[Way, ...]
    convert: Callable[[Json], Json]


_VERSIONS = {
    v1beta1.API_VERSION: _Version(
        v1beta1.Configuration,
        (),
        (*EMPTY_IS_ABSENT, ("fairSharing", "preemptionStrategies")),
        from_v1beta1,
    ),
    v1beta2.API_VERSION: _Version(
        v1beta2.Configuration,
        ("waitForPodsReady", "visibilityServer"),
        (*EMPTY_IS_ABSENT, ("waitForPodsReady", "timeout")),
        lambda value: value,
    ),
}


def parse_configuration(value: Json, surroundings: ParsingContext = USUAL_SURROUNDINGS) -> ParsedConfiguration:
    """Read, default, convert and validate a configuration of either version (API-137 to API-141)."""
    errors = _head_errors(value)
    if errors:
        return ParsedConfiguration(None, DEFAULT_GATES, errors, [])
    typed, errors = _typed(value, _VERSIONS[value["apiVersion"]], surroundings.namespace)
    if typed is None:
        return ParsedConfiguration(None, DEFAULT_GATES, errors, [])
    settled = _settle(typed, surroundings)
    errors = [
        *errors,
        *_schema_errors(effective(typed)),
        *configuration_errors(typed, settled.gates, surroundings.frameworks),
        *settled.errors,
    ]
    warnings = [*ignored_settings(value), *settled.warnings, *_idle_settings(typed, settled.gates, surroundings)]
    return ParsedConfiguration(typed, settled.gates, errors, warnings, _unsupported(value, surroundings))


def effective(config: Configuration) -> Json:
    """The configuration with all defaults.

    A v1beta1 file without waitForPodsReady prints as v1beta2 without it, which would enable it when read again.
    """
    return complete(default(to_json(config), schema_of(Configuration)), config.namespace)


def _head_errors(value: Json) -> list[FieldError]:
    if not isinstance(value, dict):
        return [FieldError(ROOT, ErrorKind.TYPE_INVALID, f"must be an object of kind {KIND}")]
    try:
        encode(value)
    except UnicodeEncodeError as error:
        return [FieldError(ROOT, ErrorKind.TYPE_INVALID, f"contains text that is not valid Unicode: {error.reason}")]
    return [
        *_one_of(value.get("apiVersion"), tuple(_VERSIONS), ROOT / "apiVersion"),
        *_one_of(value.get("kind"), (KIND,), ROOT / "kind"),
    ]


def _one_of(value: Json, allowed: tuple[str, ...], path: Path) -> list[FieldError]:
    if value is None:
        return [required(path, f"use one of: {', '.join(allowed)}", "API-137")]
    return [] if value in allowed else [not_supported(path, value, allowed, "API-137")]


def _typed(value: Json, version: _Version, namespace: str) -> tuple[Configuration | None, list[FieldError]]:
    schema = schema_of(version.struct)
    given = {name: member for name, member in value.items() if member is not None}
    pruned, unknown = prune({**{name: {} for name in version.always_there}, **given}, schema)
    errors = [forbidden(path, "unknown field; check its name and position", "API-137") for path in unknown]
    written, unreadable = scalars.canonical(pruned, schema)
    defaulted = default(without_empty(written, version.empty_is_absent), schema)
    found = [*plainly(validate(defaulted, schema)), *unreadable]
    if any(error.kind in _UNREADABLE for error in found):
        return None, [*errors, *found]
    try:
        return from_json(complete(version.convert(defaulted), namespace), Configuration), errors
    except DecodeError as error:
        return None, [*errors, FieldError(ROOT, ErrorKind.TYPE_INVALID, str(error))]


def _schema_errors(shown: Json) -> list[FieldError]:
    schema = schema_of(Configuration)
    return [*plainly(validate(shown, schema)), *scalars.range_errors(shown, schema)]


def _settle(config: Configuration, surroundings: ParsingContext) -> ResolvedGates:
    """The gates of the flag or of the file; both together are an error (API-138)."""
    if not surroundings.gate_flag:
        return from_settings(config.feature_gates, ROOT / "featureGates", surroundings.compat)
    settings, errors = parse_flag(surroundings.gate_flag, FEATURE_GATES_FLAG)
    settled = from_settings(settings, FEATURE_GATES_FLAG, surroundings.compat)
    if config.feature_gates:
        detail = "the --feature-gates flag is set too; set gates in one place"
        errors.append(invalid(ROOT / "featureGates", ", ".join(config.feature_gates), detail, "API-138"))
    return ResolvedGates(settled.gates, [*errors, *settled.errors], settled.warnings)


def _unsupported(value: Json, surroundings: ParsingContext) -> list[Notice]:
    flag, _ = parse_flag(surroundings.gate_flag, FEATURE_GATES_FLAG)
    return [*configuration_notices(value), *gate_notices(flag, FEATURE_GATES_FLAG)]


def _idle_settings(config: Configuration, gates: FeatureGates, surroundings: ParsingContext) -> list[str]:
    """Settings without effect because a feature gate is disabled."""
    known = {name: surroundings.frameworks.get(name) for name in config.integrations.frameworks}
    multi_kueue, resources = config.multi_kueue, config.resources
    waiting = {
        "metrics.customLabels": (config.metrics.custom_labels, Gate.CustomMetricLabels),
        "multiKueue.clusterProfile": (multi_kueue.cluster_profile, Gate.MultiKueueClusterProfile),
        "multiKueue.externalFrameworks": (multi_kueue.external_frameworks, Gate.MultiKueueAdaptersForCustomJobs),
        "resources.deviceClassMappings": (resources.device_class_mappings, Gate.KueueDRAIntegration),
        "admissionFairSharing": (config.admission_fair_sharing, Gate.AdmissionFairSharing),
        **{
            f"integrations.frameworks: {name}": (name, framework.gate)
            for name, framework in known.items()
            if framework is not None and framework.gate is not None
        },
    }
    return [
        f"{setting} has no effect while feature gate {gate.name} is disabled"
        for setting, (given, gate) in waiting.items()
        if given and not gates.enabled(gate)
    ]
