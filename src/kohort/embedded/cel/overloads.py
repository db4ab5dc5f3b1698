"""Functions and methods by name and argument types.

Libraries register here; functions are resolved once by name at compile time and once per set of types at run time.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from kohort.embedded.cel.errors import no_such_overload
from kohort.embedded.cel.values import Opaque

Implementation = Callable[..., Any]
F = TypeVar("F", bound=Implementation)

ANY = object
"""Any parameter type."""


class Overloads:
    """All implementations of one name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.declared: dict[tuple[type, ...], Implementation] = {}
        self.known: dict[tuple[type, ...], Implementation] = {}
        """The implementation per set of types, cached."""

    def call(self, *values: Any) -> Any:
        """The result for these values; raises `EvaluationError` if no overload matches."""
        return self.choose(tuple(map(type, values)))(*values)

    def choose(self, types: tuple[type, ...]) -> Implementation:
        """The implementation for these types."""
        found = self.known.get(types)
        if found is None:
            found = self.known[types] = self._search(types)
        return found

    def _search(self, types: tuple[type, ...]) -> Implementation:
        for parameters, implementation in self.declared.items():
            if len(parameters) == len(types) and all(map(_takes, parameters, types)):
                return implementation
        return _refused

    def takes(self, count: int) -> bool:
        """Whether any implementation has this number of parameters."""
        return any(len(parameters) == count for parameters in self.declared)


def _refused(*_values: Any) -> Any:
    raise no_such_overload()


def _takes(parameter: type, given: type) -> bool:
    # In Python a boolean and an unsigned integer are integers; in CEL they are not.
    return (
        parameter is given or parameter is ANY or (parameter in (list, dict, Opaque) and issubclass(given, parameter))
    )


FUNCTIONS: dict[str, Overloads] = {}
METHODS: dict[str, Overloads] = {}


def function(name: str, *types: type) -> Callable[[F], F]:
    """Registers an implementation of a function or operator."""
    return _registering(FUNCTIONS, name, types)


def method(name: str, *types: type) -> Callable[[F], F]:
    """Registers an implementation of a method; the first type is that of its target."""
    return _registering(METHODS, name, types)


def _registering(register: dict[str, Overloads], name: str, types: tuple[type, ...]) -> Callable[[F], F]:
    def add(implementation: F) -> F:
        register.setdefault(name, Overloads(name)).declared[types] = implementation
        return implementation

    return add
