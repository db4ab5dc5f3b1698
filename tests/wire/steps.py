"""What a client does: chapters of steps, each a kubectl command line or a call of the stock Python client.

A step says only what is done and how its answer is read; both servers get it word for word.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wire.differences import Difference
from wire.masks import Mask

Json = Any


class Reading(Enum):
    """How standard output is compared."""

    TEXT = "text"
    JSON = "json"
    """By value: the order of members is nobody's promise."""
    LINES = "lines of json"
    KEYS = "keys"
    """Only the names of members of a JSON object."""
    SORTED = "sorted lines"
    """Where the order is not defined."""
    NOTHING = "nothing"
    """Not at all: a wait prints nothing when it comes too late."""


class User(Enum):
    """Whose credentials a command carries."""

    ADMIN = "admin"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Step:
    """One kubectl command, as one would type it after `kubectl`; `<<name>>` stands for what an earlier step saved."""

    command: str
    stdin: str = ""
    reading: Reading = Reading.TEXT
    user: User = User.ADMIN
    editor: str = ""
    """The command that stands in for a person at `kubectl edit`."""
    saves: str = ""
    """The name under which later steps find this output."""
    patience: float = 0
    """Seconds for which the command may be repeated until it succeeds: what servers do in the background takes time."""
    masks: tuple[Mask, ...] = ()
    differs: tuple[Difference, ...] = ()

    @property
    def title(self) -> str:
        """How the step is called in reports."""
        return self.command


@dataclass(frozen=True, slots=True)
class Call:
    """One use of the Python client: a function of the client and the namespace, named by what it does."""

    function: Callable[[Any, str], Json]
    masks: tuple[Mask, ...] = ()
    differs: tuple[Difference, ...] = ()

    @property
    def title(self) -> str:
        """How the call is called in reports."""
        return self.function.__name__


@dataclass(frozen=True, slots=True)
class Chapter:
    """Steps that build on each other, in a namespace of their own."""

    name: str
    steps: tuple[Step | Call, ...]

    @property
    def namespace(self) -> str:
        """The namespace of the chapter, the same on both servers."""
        return f"wire-{self.name}"
