"""Invariant checks of an engine, for tests and debugging.

Everything is worked out anew from the objects by the formulas of the specification, with none of the engine's
shortcuts. `check` answers in words; a `CheckedEngine` looks after every step and raises what is broken.
"""

from kohort.engine.invariants.checked import CheckedEngine, check

__all__ = ["CheckedEngine", "check"]
