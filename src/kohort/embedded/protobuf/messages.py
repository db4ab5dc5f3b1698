"""Field numbers of the messages, from `fields.txt`, loaded on first use."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FIELD = re.compile(r"(?P<name>[^=]*)=(?P<number>\d+)(?:(?P<kind>[A-Za-z])|:(?P<message>[\w.]+))(?P<mark>[*%~]?)")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message."""

    name: str
    """Name in JSON; empty for an inlined message."""
    kind: str
    """Type letter as in the legend of `fields.txt`; `m` for a message."""
    message: str = ""
    is_list: bool = False
    is_map: bool = False
    drops_zero: bool = False


MessageFields = dict[int, Field]


@cache
def _lines() -> dict[str, str]:
    text = files(__package__).joinpath("fields.txt").read_text()
    lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: rest for name, _, rest in lines}


@cache
def message(name: str) -> MessageFields | None:
    """The fields of a message by number; None for an unknown message."""
    line = _lines().get(name)
    if line is None:
        return None
    package = name.rpartition(".")[0]
    return dict(_field(token, package) for token in line.split())


def _field(token: str, package: str) -> tuple[int, Field]:
    match = _FIELD.fullmatch(token)
    if match is None:
        raise ValueError(f"fields.txt: {token!r} is no field")
    target, mark = match["message"] or "", match["mark"]
    if target and "." not in target:
        target = f"{package}.{target}"
    field = Field(match["name"], match["kind"] or "m", target, mark == "*", mark == "%", mark == "~")
    return int(match["number"]), field


def message_name(api_version: str, kind: str) -> str:
    """The message of a kind: `batch/v1` Job is `batch.v1.Job`, a core kind `core.v1.…`."""
    group, _, version = api_version.rpartition("/")
    if kind == "DeleteOptions":
        return "meta.v1.DeleteOptions"
    return f"{group.partition('.')[0] or 'core'}.{version}.{kind}"
