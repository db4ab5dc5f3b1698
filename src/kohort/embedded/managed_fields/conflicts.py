"""The conflict error of server-side apply."""

from collections.abc import Mapping

from kohort.api.codec import Json
from kohort.embedded.managed_fields.field_sets import FieldSet, display_path
from kohort.embedded.managed_fields.managers import UPDATE, ManagerId
from kohort.kube.errors import StatusError


def apply_conflict(conflicts: Mapping[ManagerId, FieldSet]) -> StatusError:
    """The error for an apply that would change fields of these managers."""
    found = sorted((_title(who), [display_path(path) for path in fields.paths()]) for who, fields in conflicts.items())
    count = sum(len(paths) for _, paths in found)
    listed = "\n".join(_group(title, paths) for title, paths in found) if count > 1 else _single(*found[0])
    causes: list[Json] = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {title}", "field": path}
        for title, paths in found
        for path in paths
    ]
    message = f"Apply failed with {count} {_plural(count)}: {listed}"
    return StatusError(409, "Conflict", message, {"causes": causes})


def _title(who: ManagerId) -> str:
    through = f' with subresource "{who.subresource}"' if who.subresource else ""
    using = f" using {who.api_version}" if who.operation == UPDATE else ""
    return f'"{who.manager}"{through}{using}'


def _single(title: str, paths: list[str]) -> str:
    return f"conflict with {title}: {paths[0]}"


def _group(title: str, paths: list[str]) -> str:
    return f"conflicts with {title}:\n" + "\n".join(f"- {path}" for path in paths)


def _plural(count: int) -> str:
    return "conflict" if count == 1 else "conflicts"
