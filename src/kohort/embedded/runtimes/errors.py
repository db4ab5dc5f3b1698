"""Errors that prevent a runtime from starting; other errors are reported on their pod."""


class RuntimeSetupError(Exception):
    """The runtime cannot be used on this machine; the text is one line with the remedy."""
