"""The job frameworks of this process: built-in ones and plugins, as enabled by the Configuration."""

from collections.abc import Iterable, Mapping

from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS, KnownFramework
from kohort.api.resource import Resource
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework
from kohort.jobs.registry import FrameworkRegistry, plugins


def all_frameworks() -> list[Framework]:
    """Built-in frameworks, then plugins (JOB-92, JOB-234)."""
    return [*built_in_frameworks(), *plugins()]


def known_frameworks(frameworks: Iterable[Framework]) -> Mapping[str, KnownFramework]:
    """Integrations that a Configuration may name: all of Kueue's, and plugins."""
    ours = {each.name: KnownFramework(_kind_argument(each.resource)) for each in frameworks}
    return {**ours, **BUILT_IN_FRAMEWORKS}


def framework_names(frameworks: Iterable[Framework]) -> frozenset[str]:
    """Names of frameworks."""
    return frozenset(each.name for each in frameworks)


def resources_of(registry: FrameworkRegistry) -> list[Resource]:
    """The distinct resources that active frameworks read."""
    kinds = [kind for framework in registry.active() for kind in (framework, *framework.planners)]
    found = [resource for each in kinds for resource in (each.resource, *(watch.resource for watch in each.watches))]
    return list(dict.fromkeys(found))


def _kind_argument(resource: Resource) -> str:
    return f"{resource.kind}.{resource.version}.{resource.group}"
