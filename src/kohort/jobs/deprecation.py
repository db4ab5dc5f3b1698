"""Deprecated names of the plugin API, kept for one release."""

import warnings
from collections.abc import Callable, Mapping
from sys import modules
from typing import Any


def deprecated_names(module: str, renamed: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that returns renamed attributes under their old names, with a DeprecationWarning."""

    def get(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is deprecated: use {renamed[name]}", DeprecationWarning, stacklevel=2)
        return getattr(modules[module], renamed[name])

    return get
