"""The manager's configuration file: read strictly, defaulted, converted to v1beta2, validated."""

from kohort.api.config.defaults import SERVICE_ACCOUNT_NAMESPACE, own_namespace
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS, KnownFramework
from kohort.api.config.loading import ConfigurationError, Loaded, default_configuration, load_configuration
from kohort.api.config.parsing import ParsedConfiguration, ParsingContext, effective, parse_configuration
from kohort.api.config.v1beta2 import Configuration

__all__ = [
    "BUILT_IN_FRAMEWORKS",
    "SERVICE_ACCOUNT_NAMESPACE",
    "Configuration",
    "ConfigurationError",
    "KnownFramework",
    "Loaded",
    "ParsedConfiguration",
    "ParsingContext",
    "default_configuration",
    "effective",
    "load_configuration",
    "own_namespace",
    "parse_configuration",
]
