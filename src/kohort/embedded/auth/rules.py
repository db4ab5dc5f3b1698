"""RBAC rules: what a rule allows, and whether it covers another."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.auth.attributes import AuthorizationAttributes

ANY = "*"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A PolicyRule with its values as sets."""

    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> "PolicyRule":
        """The rule from its manifest."""
        return cls(
            frozenset(rule.get("verbs") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("resources") or ()),
            frozenset(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )

    def allows(self, attributes: AuthorizationAttributes) -> bool:
        """Whether the rule allows the action."""
        verbs = self.verbs
        if attributes.verb not in verbs and ANY not in verbs:
            return False
        if attributes.path:
            return any(_path_matches(path, attributes.path) for path in self.paths)
        groups = self.groups
        if attributes.group not in groups and ANY not in groups:
            return False
        return self._names_resource(attributes) and (not self.names or attributes.name in self.names)

    def _names_resource(self, attributes: AuthorizationAttributes) -> bool:
        resources = self.resources
        if attributes.resource_with_subresource in resources or ANY in resources:
            return True
        return bool(attributes.subresource) and f"*/{attributes.subresource}" in resources

    def atoms(self) -> Iterator["PolicyRule"]:
        """The equivalent rules with one verb, group and resource each."""
        for verb in sorted(self.verbs):
            for path in self.paths:
                yield PolicyRule(frozenset((verb,)), paths=(path,))
            for group in sorted(self.groups):
                for resource in sorted(self.resources):
                    for name in sorted(self.names) or [""]:
                        names = frozenset((name,)) if name else frozenset[str]()
                        yield PolicyRule(frozenset((verb,)), frozenset((group,)), frozenset((resource,)), names)

    def covers(self, atom: "PolicyRule") -> bool:
        """Whether the rule allows everything that the atomic rule allows."""
        if not _within(atom.verbs, self.verbs):
            return False
        if atom.paths:
            return any(_path_covers(path, atom.paths[0]) for path in self.paths)
        if not _within(atom.groups, self.groups) or not self._covers_resources(atom.resources):
            return False
        return not self.names or (bool(atom.names) and atom.names <= self.names)

    def _covers_resources(self, wanted: frozenset[str]) -> bool:
        if ANY in self.resources:
            return True
        return all(
            each in self.resources or ("/" in each and f"*/{each.partition('/')[2]}" in self.resources)
            for each in wanted
        )

    def __str__(self) -> str:
        parts = (("APIGroups", self.groups), ("Resources", self.resources), ("ResourceNames", self.names))
        fields = [
            (name, sorted(words)) for name, words in (*parts, ("NonResourceURLs", self.paths), ("Verbs", self.verbs))
        ]
        return "{" + ", ".join(f"{name}:{_quoted(words)}" for name, words in fields if words) + "}"

    def to_json(self) -> dict[str, Json]:
        """The rule as in a manifest."""
        known = {
            "verbs": sorted(self.verbs),
            "apiGroups": sorted(self.groups),
            "resources": sorted(self.resources),
            "resourceNames": sorted(self.names),
            "nonResourceURLs": list(self.paths),
        }
        return {name: words for name, words in known.items() if words}


def _within(wanted: frozenset[str], held: frozenset[str]) -> bool:
    return ANY in held or wanted <= held


def _path_matches(pattern: str, path: str) -> bool:
    if pattern in (ANY, path):
        return True
    return pattern.endswith(ANY) and path.startswith(pattern[:-1])


def _path_covers(pattern: str, wanted: str) -> bool:
    return pattern == wanted or (pattern.endswith(ANY) and wanted.startswith(pattern[:-1]))


def _quoted(words: Iterable[str]) -> str:
    return "[" + " ".join(f'"{word}"' for word in words) + "]"
