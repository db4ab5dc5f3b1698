"""The frameworks of a process: which are known, which are enabled, and what kinds of owners they make (§13).

Built-ins come first, then plugins found by entry point; a name or kind that two claim fails at the start (JOB-92,
JOB-234).
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points

from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.v1beta2 import Configuration
from kohort.jobs.contract import Framework
from kohort.jobs.errors import JobError

log = logging.getLogger(__name__)

ENTRY_POINTS = "kohort.frameworks"
"""Group of the entry points under which plugins offer a `Framework` class."""

GroupKind = tuple[str, str]
"""API group and kind; owner references may name any version."""

TRANSIT_KINDS: frozenset[GroupKind] = frozenset({("apps", "ReplicaSet")})
"""Owners that are never managed and may be walked through (JOB-3, JOB-188)."""


class RegistryError(JobError):
    """Frameworks that do not go together, or a name that no framework has."""


def group_kind(api_version: str, kind: str) -> GroupKind:
    """The group and kind that an owner reference or an object names."""
    return api_version.rpartition("/")[0], kind


@dataclass(frozen=True, slots=True)
class FrameworkRegistry:
    """Frameworks by name, and those that the configuration enables."""

    frameworks: Mapping[str, Framework]
    enabled: frozenset[str]
    """Names of the frameworks that are at work, implied ones included (JOB-94)."""
    configured: frozenset[str]
    """Names that the configuration has; the rest of `enabled` is implied."""
    external: frozenset[GroupKind] = frozenset()
    """Kinds that other controllers manage (JOB-96)."""

    def framework(self, group: GroupKind) -> Framework | None:
        """The framework of a kind, enabled or not."""
        return next((each for each in self.frameworks.values() if _kind_of(each) == group), None)

    def active(self) -> list[Framework]:
        """All enabled frameworks, by name."""
        return [self.frameworks[name] for name in sorted(self.enabled)]

    def is_known(self, group: GroupKind) -> bool:
        """Whether an owner of that kind may be walked to (JOB-3)."""
        return group in TRANSIT_KINDS or group in self.external or self._claims(group) is not None

    def is_managed(self, group: GroupKind) -> bool:
        """Whether an owner of that kind may be the one that is queued (JOB-3)."""
        if group in self.external:
            return True
        framework = self._claims(group)
        return framework is not None and framework.name in self.enabled

    def is_implicit(self, name: str) -> bool:
        """Whether a framework is at work only because another one needs it (JOB-94)."""
        return name in self.enabled and name not in self.configured

    def _claims(self, group: GroupKind) -> Framework | None:
        """A framework that is more than a propagator of labels, which never claims anything (JOB-190)."""
        framework = self.framework(group)
        return framework if framework is not None and not framework.is_propagator else None


def registry_of(configuration: Configuration, frameworks: Iterable[Framework]) -> FrameworkRegistry:
    """The frameworks at work under a configuration; raises RegistryError (JOB-92, JOB-95)."""
    by_name = _by_name(frameworks)
    configured = _found(configuration.integrations.frameworks, by_name)
    external = frozenset(map(_external_kind, configuration.integrations.external_frameworks))
    return FrameworkRegistry(by_name, configured | _implied(by_name, configured), configured, external)


def _found(names: Iterable[str], by_name: Mapping[str, Framework]) -> frozenset[str]:
    """The configured frameworks that there are; a name of Kueue's that has none here yet is no error, only told."""
    for name in names:
        if name in by_name:
            continue
        if name not in BUILT_IN_FRAMEWORKS:
            known = ", ".join(sorted(by_name))
            raise RegistryError(f"integrations.frameworks: {name!r} is no framework; known are {known}")
        log.warning("framework %s is not available in this version: its jobs are not queued", name)
    return frozenset(names) & by_name.keys()


def plugins() -> list[Framework]:
    """Frameworks of installed packages; one that can't be loaded disables only itself (JOB-234)."""
    found: list[Framework] = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            found.append(point.load()())
        except Exception:
            log.exception("framework %s of %s can't be loaded and is left out", point.name, point.value)
    return found


def _by_name(frameworks: Iterable[Framework]) -> dict[str, Framework]:
    by_name: dict[str, Framework] = {}
    kinds: dict[GroupKind, str] = {}
    for each in frameworks:
        if each.name in by_name:
            raise RegistryError(f"two frameworks are called {each.name!r}; rename one")
        other = kinds.setdefault(_kind_of(each), each.name)
        if other != each.name:
            raise RegistryError(
                f"frameworks {other!r} and {each.name!r} both manage {each.resource.kind}; leave one out"
            )
        by_name[each.name] = each
    return by_name


def _implied(by_name: Mapping[str, Framework], configured: Iterable[str]) -> frozenset[str]:
    return frozenset(name for each in configured for name in by_name[each].implies if name in by_name)


def _kind_of(framework: Framework) -> GroupKind:
    return framework.resource.group, framework.resource.kind


def _external_kind(text: str) -> GroupKind:
    """From `Kind.version.group`, whose form the configuration has been checked for."""
    kind, _, rest = text.partition(".")
    return rest.partition(".")[2], kind
