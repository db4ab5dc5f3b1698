"""Names of field managers: validation, with kube-apiserver's messages."""

from kohort.api.fields import FieldError, Path, invalid, too_long

MAX_MANAGER_LENGTH = 128


def validate_manager(name: str, path: Path) -> list[FieldError]:
    """Validation errors of a manager name, as in `fieldManager`."""
    if len(name.encode()) > MAX_MANAGER_LENGTH:
        return [too_long(path, MAX_MANAGER_LENGTH)]
    if not name.isprintable():
        return [invalid(path, name, "should only contain printable characters")]
    return []


def manager_of(user_agent: str) -> str:
    """The default field manager: the user agent up to the slash."""
    name = user_agent.partition("/")[0][:MAX_MANAGER_LENGTH]
    return "".join(char for char in name if char.isprintable())
