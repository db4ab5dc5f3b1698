"""Scripts for API servers: steps that are kubectl command lines or calls of the official Python client.

A step defines what is sent and how the output is compared; both servers get the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from conformance.differences import Difference
from conformance.masks import Mask

Json = Any


class OutputFormat(Enum):
    """How standard output is compared."""

    TEXT = "text"
    JSON = "json"
    """By value, because the order of members is undefined."""
    LINES = "lines of json"
    KEYS = "keys"
    """Only the names of members of a JSON object."""
    SORTED = "sorted lines"
    """For output in undefined order."""
    NOTHING = "nothing"
    """Not compared: a wait prints nothing if its condition holds already."""


class User(Enum):
    """The credentials of a command."""

    ADMIN = "admin"
    ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Step:
    """The arguments of one kubectl command; `<<name>>` is replaced by the output that an earlier step saved."""

    command: str
    stdin: str = ""
    reading: OutputFormat = OutputFormat.TEXT
    user: User = User.ADMIN
    editor: str = ""
    """The editor command of `kubectl edit`."""
    saves: str = ""
    """The name under which the output is saved for later steps."""
    retry_seconds: float = 0
    """Seconds for which the command is repeated until it succeeds, for results of background work."""
    masks: tuple[Mask, ...] = ()
    differs: tuple[Difference, ...] = ()

    @property
    def title(self) -> str:
        """Name of the step in reports."""
        return self.command


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One call of the Python client: a function of the client and the namespace."""

    function: Callable[[Any, str], Json]
    masks: tuple[Mask, ...] = ()
    differs: tuple[Difference, ...] = ()

    @property
    def title(self) -> str:
        """Name of the call in reports."""
        return self.function.__name__


@dataclass(frozen=True, slots=True)
class Script:
    """Dependent steps in one namespace."""

    name: str
    steps: tuple[Step | ClientCall, ...]

    @property
    def namespace(self) -> str:
        """The namespace of the script, the same on both servers."""
        return f"conformance-{self.name}"
