"""Invariant checks of an engine, for tests and debugging.

State is recomputed from the objects by the formulas of the specification, without the engine's optimizations. `check`
returns violations as text; a `CheckedEngine` checks after every step and raises.
"""

from engine.invariants.checked import CheckedEngine, check

__all__ = ["CheckedEngine", "check"]
