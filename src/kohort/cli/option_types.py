"""Types of option values, with the names that help shows for them, and switches between two settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

T = TypeVar("T", bound="click.ParamType[Any]")
F = TypeVar("F", bound=Callable[..., Any])


def _named(name: str, type_: T) -> T:
    type_.name = name
    return type_


COUNT: Final = _named("n", click.IntRange(0))
POSITIVE_COUNT: Final = _named("n", click.IntRange(1))
PORT: Final = _named("port", click.IntRange(0, 65535))
SECONDS: Final = _named("seconds", click.FloatRange(min=0))
FILE: Final = _named("file", click.Path(path_type=Path))
EXISTING_FILE: Final = _named("file", click.Path(exists=True, dir_okay=False, path_type=Path))
DIRECTORY: Final = _named("dir", click.Path(file_okay=False, path_type=Path))


def switch_option(*names: str, on: object, off: object = None, text: str) -> Callable[[F], F]:
    """A flag that replaces one value by another."""
    return click.option(*names, type=click.UNPROCESSED, flag_value=on, default=off, help=text)
