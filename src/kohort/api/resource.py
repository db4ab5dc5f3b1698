"""API resources and their URL paths.

One value has all five parts, so that no caller joins groups, versions and plurals itself.
"""

from dataclasses import dataclass
from urllib.parse import quote

from kohort.api.errors import ApiError

GroupKind = tuple[str, str]
"""API group and kind."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource in one version of its group; the core group is empty."""

    group: str
    version: str
    kind: str
    plural: str
    """Empty for a kind without a collection: a response (Status) or the body of a subresource (Eviction)."""
    namespaced: bool

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The root path of the group version."""
        return f"/{'apis' if self.group else 'api'}/{self.api_version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of a collection, an object or a subresource; without a namespace, of all namespaces."""
        problem = self._path_problem(namespace, name, subresource)
        if problem:
            raise ApiError(f"no path to {self.kind} {namespace}/{name}: {problem}")
        place = ("namespaces", namespace) if namespace else ()
        parts = (*place, self.plural, *filter(None, (name, subresource)))
        return "/".join((self.root, *(quote(part, safe=":") for part in parts)))

    def _path_problem(self, namespace: str, name: str, subresource: str) -> str:
        if not self.plural:
            return "the kind has no collection; use the path of the resource it belongs to"
        if namespace and not self.namespaced:
            return "the kind is cluster-scoped; leave the namespace out"
        if name and self.namespaced and not namespace:
            return "the kind is namespaced; give the namespace"
        if subresource and not name:
            return "a subresource belongs to one object; give its name"
        return ""


def resource_of(kind_argument: str) -> Resource:
    """The namespaced resource of `Kind.version.group`, with the usual plural."""
    kind, version, group = kind_argument.split(".", 2)
    return Resource(group, version, kind, f"{kind.lower()}s", namespaced=True)
