"""Permissions of the manager, as rules of RBAC roles."""

from dataclasses import dataclass
from typing import Final

from kohort.api.codec import Json

READ: Final = ("get", "list", "watch")
WRITE: Final = ("patch", "update")
FOLLOW: Final = ("list", "watch")


@dataclass(frozen=True, slots=True)
class Permission:
    """Verbs on resources of one group, optionally limited to named objects."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rule(self) -> Json:
        """The permission as a rule of a role."""
        named = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": list(self.resources), **named, "verbs": sorted(self.verbs)}
