"""Patches: JSON Patch, JSON merge patch, strategic merge patch.

Pure functions from an object and a patch to a new object; arguments are never changed.
"""

from kohort.embedded.patches.kinds import PatchKind
from kohort.embedded.patches.patching import apply_patch

__all__ = ["PatchKind", "apply_patch"]
