"""Validation of `metadata.managedFields` from clients, with kube-apiserver's messages."""

from typing import Any

from kohort.api.fields import FieldError, Path, invalid, too_long
from kohort.embedded.managed_fields.managers import APPLY, UPDATE

MAX_MANAGER_LENGTH = 128
MAX_SUBRESOURCE_LENGTH = 256

_ENTRIES = Path("metadata") / "managedFields"


def validate_managed_fields(obj: dict[str, Any]) -> list[FieldError]:
    """Validation errors of all entries."""
    entries = (obj.get("metadata") or {}).get("managedFields") or []
    return [error for index, entry in enumerate(entries) for error in _problems(entry, _ENTRIES[index])]


def _problems(entry: dict[str, Any], path: Path) -> list[FieldError]:
    errors = validate_manager(str(entry.get("manager") or ""), path / "manager")
    operation, fields_type = entry.get("operation", ""), entry.get("fieldsType") or "FieldsV1"
    if operation not in (APPLY, UPDATE):
        errors.append(invalid(path / "operation", operation, "must be `Apply` or `Update`"))
    if fields_type != "FieldsV1":
        errors.append(invalid(path / "fieldsType", fields_type, "must be `FieldsV1`"))
    if len(str(entry.get("subresource") or "")) > MAX_SUBRESOURCE_LENGTH:
        errors.append(too_long(path / "subresource", MAX_SUBRESOURCE_LENGTH))
    return errors


def validate_manager(name: str, path: Path) -> list[FieldError]:
    """Validation errors of a manager name, also for `fieldManager`."""
    if len(name.encode()) > MAX_MANAGER_LENGTH:
        return [too_long(path, MAX_MANAGER_LENGTH)]
    if not name.isprintable():
        return [invalid(path, name, "should only contain printable characters")]
    return []


def manager_of(user_agent: str) -> str:
    """The default field manager: the user agent up to the slash."""
    name = user_agent.partition("/")[0][:MAX_MANAGER_LENGTH]
    return "".join(char for char in name if char.isprintable())
