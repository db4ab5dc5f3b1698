"""Whether an object of a built-in kind makes sense, in the words in which kube-apiserver says that it does not.

Rules belong to schemas, as defaults do: what a container must have holds in every pod template. The README lists what
is checked; what is not is taken as it comes.
"""

from kohort.embedded.kinds.validation.objects import validate

__all__ = ["validate"]
