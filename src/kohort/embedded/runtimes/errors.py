"""What keeps a runtime from running at all; everything else is told about the pod that it concerns."""


class RuntimeSetupError(Exception):
    """The runtime can't be used on this machine; the text is one line with the remedy."""
