"""One RBAC rule: what it allows, and whether it covers another."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kohort.api.codec import Json
from kohort.embedded.auth.attributes import AuthorizationAttributes

ANY = "*"


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A PolicyRule with its words as sets."""

    verbs: frozenset[str]
    groups: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> "PolicyRule":
        """The rule as manifests write it."""
        return cls(
            frozenset(rule.get("verbs") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("resources") or ()),
            frozenset(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )

    def allows(self, asked: AuthorizationAttributes) -> bool:
        """Whether the rule lets this happen."""
        verbs = self.verbs
        if asked.verb not in verbs and ANY not in verbs:
            return False
        if asked.path:
            return any(_path_matches(path, asked.path) for path in self.paths)
        groups = self.groups
        if asked.group not in groups and ANY not in groups:
            return False
        return self._names_resource(asked) and (not self.names or asked.name in self.names)

    def _names_resource(self, asked: AuthorizationAttributes) -> bool:
        resources = self.resources
        if asked.combined in resources or ANY in resources:
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in resources

    def atoms(self) -> Iterator["PolicyRule"]:
        """The smallest rules that together allow the same."""
        for verb in sorted(self.verbs):
            for path in self.paths:
                yield PolicyRule(frozenset((verb,)), paths=(path,))
            for group in sorted(self.groups):
                for resource in sorted(self.resources):
                    for name in sorted(self.names) or [""]:
                        names = frozenset((name,)) if name else frozenset[str]()
                        yield PolicyRule(frozenset((verb,)), frozenset((group,)), frozenset((resource,)), names)

    def covers(self, atom: "PolicyRule") -> bool:
        """Whether everything that the atom allows is allowed by this rule."""
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
        told = [
            (name, sorted(words)) for name, words in (*parts, ("NonResourceURLs", self.paths), ("Verbs", self.verbs))
        ]
        return "{" + ", ".join(f"{name}:{_quoted(words)}" for name, words in told if words) + "}"

    def to_json(self) -> dict[str, Json]:
        """The rule as manifests write it."""
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
