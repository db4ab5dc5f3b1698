"""The served resources: built-in ones, and those of established CustomResourceDefinitions.

Tables are immutable and replaced as a whole when a definition changes, so that a request sees one state.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kohort.embedded.crds import is_established, resources_of
from kohort.embedded.openapi import Definitions
from kohort.embedded.resources import ServedResource

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_Place = tuple[str, str, str]


class ResourceCatalog:
    """Resources by group, version and plural."""

    def __init__(self, builtin: Iterable[ServedResource], definitions: Definitions) -> None:
        self._builtin = tuple(builtin)
        self._definitions = definitions
        self._custom: dict[str, tuple[ServedResource, ...]] = {}
        self._crds: dict[str, Mapping[str, Any]] = {}
        self._aggregated: tuple[ServedResource, ...] = ()
        self.generation = 0
        """Increases with every change; invalidates cached documents."""
        self._rebuild()

    def _rebuild(self) -> None:
        custom = (one for name in sorted(self._custom) for one in self._custom[name])
        self.resources: tuple[ServedResource, ...] = (*self._builtin, *custom)
        self._by_gvr: dict[_Place, ServedResource] = {
            (one.group, one.version, one.plural): one for one in reversed(self.resources)
        }
        self._by_kind = {(one.api_version, one.kind): one for one in reversed(self.resources)}
        self._by_key = {one.key: one for one in reversed(self.resources) if not one.stored_as}
        self._by_name: dict[tuple[str, str], list[ServedResource]] = {}
        for one in self.resources:
            self._by_name.setdefault((one.key, one.kind), []).append(one)
        self._versions = {(one.group, one.version) for one in self.resources}
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """The resource at a group, version and plural."""
        return self._by_gvr.get((group, version, plural))

    def find_kind(self, api_version: str, kind: str) -> ServedResource | None:
        """The resource of a kind."""
        return self._by_kind.get((api_version, kind))

    def stored(self, key: str) -> ServedResource | None:
        """A resource by its storage name, in its first version."""
        return self._by_key.get(key)

    def versions(self, resource: ServedResource) -> Sequence[ServedResource]:
        """All served versions of a resource."""
        return self._by_name.get((resource.key, resource.kind), ())

    def has_group(self, group: str) -> bool:
        """Whether any resource of the group is served."""
        return any(group == one.group for one in self.discoverable)

    def has_version(self, group: str, version: str) -> bool:
        """Whether any resource of the group and version is served."""
        return (group, version) in self._versions

    @property
    def discoverable(self) -> tuple[ServedResource, ...]:
        """The resources in discovery: those served here and by aggregated servers."""
        return (*self.resources, *self._aggregated)

    def set_aggregated(self, foreign: Iterable[ServedResource]) -> None:
        """Adds the resources of aggregated servers to discovery."""
        found = tuple(foreign)
        if found != self._aggregated:
            self._aggregated = found
            self.generation += 1

    def define(self, crd: Mapping[str, Any]) -> None:
        """Serves a definition, or updates it; one that is not established serves nothing."""
        name = crd["metadata"]["name"]
        self._custom[name] = resources_of(crd, self._definitions) if is_established(crd) else ()
        self._crds[name] = crd
        self._rebuild()

    def forget(self, name: str) -> None:
        """Removes a definition."""
        self._custom.pop(name, None)
        self._crds.pop(name, None)
        self._rebuild()

    def definition(self, key: str) -> Mapping[str, Any] | None:
        """The CustomResourceDefinition of a resource, by storage name, which is the definition's name."""
        return self._crds.get(key)
