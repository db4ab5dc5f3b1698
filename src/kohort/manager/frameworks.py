"""The job frameworks of this process: Kohort's own and those of installed packages, as a Configuration enables them."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.frameworks import KnownFramework as Known
from kohort.api.config.v1beta2 import Configuration
from kohort.api.resource import Resource
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework
from kohort.jobs.registry import FrameworkRegistry, plugins, registry_of


def all_frameworks() -> list[Framework]:
    """Kohort's own, then those of installed packages (JOB-92, JOB-234)."""
    return [*built_in_frameworks(), *plugins()]


def known_frameworks(frameworks: Iterable[Framework]) -> Mapping[str, Known]:
    """What a Configuration may name: all of Kueue's, and those of installed packages."""
    ours = {each.name: Known(_kind_argument(each.resource)) for each in frameworks}
    return {**ours, **BUILT_IN_FRAMEWORKS}


def managed_names(frameworks: Iterable[Framework]) -> frozenset[str]:
    """Names of the frameworks of this process, whatever Kohort itself supports."""
    return frozenset(each.name for each in frameworks)


def enabled_frameworks(configuration: Configuration, frameworks: Sequence[Framework]) -> FrameworkRegistry:
    """The enabled frameworks, without those of Kueue that Kohort does not have: loading the file warned about them."""
    names = {each.name for each in frameworks}
    wanted = configuration.integrations.frameworks
    missing = [name for name in wanted if name in BUILT_IN_FRAMEWORKS and name not in names]
    kept = tuple(name for name in wanted if name not in missing)
    integrations = msgspec.structs.replace(configuration.integrations, frameworks=kept)
    return registry_of(msgspec.structs.replace(configuration, integrations=integrations), frameworks)


def resources_of(registry: FrameworkRegistry) -> list[Resource]:
    """The kinds that enabled frameworks read, each once."""
    at_work = [each for framework in registry.at_work() for each in (framework, *framework.planners)]
    found = [resource for each in at_work for resource in (each.resource, *(watch.resource for watch in each.watches))]
    return list(dict.fromkeys(found))


def _kind_argument(resource: Resource) -> str:
    return f"{resource.kind}.{resource.version}.{resource.group}"
