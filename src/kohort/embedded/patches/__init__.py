"""Patches as an API server takes them: JSON Patch, JSON merge patch, strategic merge patch.

Pure functions from an object and a patch to a new object; what was handed in is never changed.
"""

from kohort.embedded.patches.kinds import PatchKind
from kohort.embedded.patches.patching import apply_patch

__all__ = ["PatchKind", "apply_patch"]
