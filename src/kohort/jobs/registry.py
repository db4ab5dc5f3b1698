"""The frameworks of a process: known and enabled ones, and the kinds that they manage (§13).

Built-in ones come first, then plugins found by entry point; duplicate names or kinds fail at start-up (JOB-92,
JOB-234).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.resource import GroupKind, Resource
from kohort.jobs.contract import Framework, ReconciledKind
from kohort.jobs.errors import JobError

log = logging.getLogger(__name__)

ENTRY_POINTS = "kohort.frameworks"
"""Entry point group of plugins, which provide a `Framework` class."""


class RegistryError(JobError):
    """Conflicting frameworks, or an unknown name."""


def group_kind(api_version: str, kind: str) -> GroupKind:
    """The group and kind of an owner reference or an object."""
    return api_version.rpartition("/")[0], kind


@dataclass(slots=True)
class FrameworkRegistry:
    """Frameworks by name, and enabled ones; declared frameworks come and go while a manager runs (JOB-236)."""

    frameworks: Mapping[str, Framework]
    enabled: frozenset[str]
    """Names of enabled frameworks, including implied ones (JOB-94)."""
    configured: frozenset[str]
    """Names in the Configuration; the rest of `enabled` is implied."""
    external: frozenset[GroupKind] = frozenset()
    """Kinds that other controllers manage (JOB-96)."""
    added: Mapping[str, Framework] = field(default_factory=dict)
    """Frameworks that were added since the start."""
    _handlers: list[Callable[[], None]] = field(default_factory=list)

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Call a function after frameworks were added or removed."""
        self._handlers.append(handler)

    def unsubscribe(self, handler: Callable[[], None]) -> None:
        """Do not call a function any more."""
        self._handlers.remove(handler)

    def add(self, framework: Framework) -> None:
        """Add and enable a framework; raises RegistryError (JOB-236)."""
        if _kind_of(framework) in self.external:
            kind = framework.resource.kind
            raise RegistryError(f"{kind} is managed externally: remove it from integrations.externalFrameworks")
        self.frameworks = _by_name([*self.frameworks.values(), framework])
        self.enabled |= {framework.name}
        self.added = {**self.added, framework.name: framework}
        self._notify()

    def remove(self, name: str) -> None:
        """Remove a framework that was added."""
        self.frameworks = {key: each for key, each in self.frameworks.items() if key != name}
        self.enabled -= {name}
        self.added = {key: each for key, each in self.added.items() if key != name}
        self._notify()

    def _notify(self) -> None:
        for handler in self._handlers:
            handler()

    def framework(self, group: GroupKind) -> Framework | None:
        """The framework of a kind, enabled or not."""
        return next((each for each in self.frameworks.values() if _kind_of(each) == group), None)

    def active(self) -> list[Framework]:
        """All enabled frameworks, by name."""
        return [self.frameworks[name] for name in sorted(self.enabled)]

    def is_known(self, group: GroupKind) -> bool:
        """Whether the search of ancestors includes owners of that kind; transit kinds lead to theirs (JOB-3)."""
        if group in self.external or any(group in _transit_kinds(each) for each in self.active()):
            return True
        framework = self.framework(group)
        return framework is not None and not framework.is_propagator

    def is_managed(self, group: GroupKind) -> bool:
        """Whether an owner of that kind may be a managed ancestor (JOB-3)."""
        if group in self.external:
            return True
        framework = self.framework(group)
        if framework is None or framework.is_propagator or framework.is_transit:
            return False
        return framework.name in self.enabled

    def resources(self) -> list[Resource]:
        """The distinct resources that enabled frameworks read."""
        return list(dict.fromkeys(resource for kind in self._kinds() for resource in kind.resources))

    def patched_resources(self) -> list[Resource]:
        """The distinct resources of enabled frameworks, without those that they only watch."""
        return list(dict.fromkeys(kind.resource for kind in self._kinds()))

    def _kinds(self) -> list[ReconciledKind]:
        return [kind for framework in self.active() for kind in (framework, *framework.planners)]


def registry_of(
    configuration: Configuration, frameworks: Iterable[Framework], gates: FeatureGates = DEFAULT_GATES
) -> FrameworkRegistry:
    """The registry for a Configuration; raises RegistryError (JOB-92, JOB-95)."""
    by_name = _by_name(frameworks)
    off = {each.name for each in by_name.values() if each.gate is not None and not gates.enabled(each.gate)}
    configured = _found(configuration.integrations.frameworks, by_name) - off
    external = frozenset(map(_external_kind, configuration.integrations.external_frameworks))
    return FrameworkRegistry(by_name, configured | _implied(by_name, configured), configured, external)


def _found(names: Iterable[str], by_name: Mapping[str, Framework]) -> frozenset[str]:
    """The configured frameworks."""
    for name in names:
        if name not in by_name and name not in BUILT_IN_FRAMEWORKS:
            available = ", ".join(sorted(by_name))
            raise RegistryError(f"integrations.frameworks: unknown integration {name!r}; available: {available}")
    return frozenset(names) & by_name.keys()


def plugins() -> list[Framework]:
    """Frameworks of installed packages; one that fails to load is skipped (JOB-234)."""
    found: list[Framework] = []
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            found.append(point.load()())
        except Exception:
            log.exception("loading framework %s from %s failed, skipping it", point.name, point.value)
    return found


def _by_name(frameworks: Iterable[Framework]) -> dict[str, Framework]:
    by_name: dict[str, Framework] = {}
    kinds: dict[str, str] = {}
    for each in frameworks:
        if each.name in by_name:
            raise RegistryError(f"duplicate framework {each.name!r}: rename one")
        # Webhooks and roles are named after the kind, without its group.
        other = kinds.setdefault(each.resource.kind.lower(), each.name)
        if other != each.name:
            raise RegistryError(f"frameworks {other!r} and {each.name!r} both manage {each.resource.kind}: remove one")
        by_name[each.name] = each
    return by_name


def _implied(by_name: Mapping[str, Framework], configured: Iterable[str]) -> frozenset[str]:
    return frozenset(name for each in configured for name in by_name[each].implies if name in by_name)


def _kind_of(framework: Framework) -> GroupKind:
    return framework.resource.group, framework.resource.kind


def _transit_kinds(framework: Framework) -> frozenset[GroupKind]:
    """Further kinds through which the search of ancestors leads (JOB-188)."""
    return frozenset((kind.group, kind.kind) for kind in framework.transit)


def _external_kind(text: str) -> GroupKind:
    """Parse `Kind.version.group`, which the Configuration has validated."""
    kind, _, rest = text.partition(".")
    return rest.partition(".")[2], kind
