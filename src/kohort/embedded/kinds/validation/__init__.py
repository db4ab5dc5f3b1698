"""Validation of built-in kinds, with kube-apiserver's messages.

Rules belong to schemas, as defaults do: a container's rules apply to every pod template. The README lists what is
checked.
"""

from kohort.embedded.kinds.validation.objects import validate

__all__ = ["validate"]
