"""What keeps a manager from starting: one line, with the remedy in it."""

from kohort.api.errors import ApiError


class StartError(ApiError):
    """The manager can't start, and would not by trying again: something has to be changed first."""
